// The largest of the values that the lanes of a workgroup hold.

const LANES = 64u;

var<workgroup> held: array<f32, LANES>;

// Called by all lanes.
fn largest_of(value: f32, local: u32) -> f32 {
  held[local] = value;
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (local < half) {
      held[local] = max(held[local], held[local + half]);
    }
  }
  workgroupBarrier();
  return held[0];
}

fn largest_part(v: vec4f) -> f32 {
  return max(max(v.x, v.y), max(v.z, v.w));
}
