// Normalized columns are added to those of another tensor.
@group(0) @binding(3) var<storage, read> addend: array<vec4f>;

fn addend_at(i: u32) -> vec4f {
  return addend[i];
}
