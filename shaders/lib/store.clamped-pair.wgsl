// y = (up + 1) · gate · σ(ALPHA · gate) of a gate of at most LIMIT and an up within ±LIMIT, biases added before; a lane's four columns are
// two of the gate and the two of the up that belong to them. Source: transformers' modeling_gpt_oss.
#import "lib/bias.$BIAS.wgsl"

const ALPHA = 1.0;
const LIMIT = 1.0;

@group(0) @binding(4) var<storage, read_write> y: array<vec2f>;

fn store(row: u32, quad: u32, acc: vec4f) {
  let pair = biased(acc, row, quad);
  let gate = min(pair.xy, vec2f(LIMIT));
  let up = clamp(pair.zw, vec2f(-LIMIT), vec2f(LIMIT));
  // clamped, because exp overflows f32 far below zero
  y[row * args.y_quads + quad] = (up + 1.0) * gate / (1.0 + exp(min(-ALPHA * gate, vec2f(80.0))));
}
