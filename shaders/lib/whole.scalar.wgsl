// The residual stream is multiplied by a number of the checkpoint.
@group(0) @binding(9) var<storage, read> scalar: array<f32>;

fn whole(v: vec4f) -> vec4f {
  return v * scalar[0];
}
