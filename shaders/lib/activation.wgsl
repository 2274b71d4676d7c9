// Activation after a convolution.
const ACTIVATION = 0u; // 0 nothing, 1 SiLU, 2 ReLU, 3 ReLU that keeps a fifth of negative values

fn activate(v: vec4f) -> vec4f {
  switch ACTIVATION {
    case 1u: { return v / (1.0 + exp(min(-v, vec4f(80.0)))); } // clamped, because exp overflows f32 far below zero
    case 2u: { return max(v, vec4f(0.0)); }
    case 3u: { return max(v, 0.2 * v); }
    default: { return v; }
  }
}
