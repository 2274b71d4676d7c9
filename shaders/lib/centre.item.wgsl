// From each row that of its item is subtracted.
@group(0) @binding(3) var<storage, read> centres: array<vec4f>;

fn centre(at: u32) -> vec4f {
  return centres[at];
}
