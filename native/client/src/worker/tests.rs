mod layout_json;
