mod file;
mod load_model;
mod save_model;
mod weak_memory;
