// No state between dispatches: one dispatch covers all keys.
const CONTINUES = false;
const ENDS = true;

fn carried(query: u32, head: u32) -> vec2f {
  return vec2f(0.0);
}

fn carry(query: u32, head: u32, largest: f32, total: f32) {
}
