mod deadline;
mod layout_json;
