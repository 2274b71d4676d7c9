// The parameters of xIELU for positive and for negative inputs, before their softplus, are tensors of one value.
@group(0) @binding(2) var<storage, read> positive: array<f32>;
@group(0) @binding(3) var<storage, read> negative: array<f32>;

fn parameters() -> vec4f {
  return vec4f(positive[0], negative[0], args.beta, args.eps);
}
