// A dispatch that does next to nothing, and that the next one of its kind must wait for.
@group(0) @binding(0) var<storage, read_write> sink: array<u32>;

@compute @workgroup_size(1)
fn main() {
  sink[0] += 1u;
}
