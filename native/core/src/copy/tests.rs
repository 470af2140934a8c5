mod conformance;
mod holder;
mod host;
mod shapes;
mod stage;
mod threads;
