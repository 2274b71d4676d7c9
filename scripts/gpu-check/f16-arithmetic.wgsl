// Halves read as f16 and widened, and times 1,024 in f16.
enable f16;

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> sink: array<f32>;

@compute @workgroup_size(4)
fn main(@builtin(local_invocation_index) i: u32) {
  let half = bitcast<vec2<f16>>(source[i]).x;
  sink[2u * i] = f32(half);
  sink[2u * i + 1u] = f32(half * 1024.0h);
}
