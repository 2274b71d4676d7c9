fn write_value(head: u32, token: u32, d: u32, dims: u32, pair: vec2f) {
}
