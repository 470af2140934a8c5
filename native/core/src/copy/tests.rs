mod conformance;
mod host;
mod shapes;
mod stage;
mod threads;
