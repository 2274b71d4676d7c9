// x[row] += scale · A[lora of the row][token] · B[lora of the row]: what LoRAs change of embeddings, whose factors stand in two tables.
#import "lib/batch.wgsl"

const NO_LORA = 0xffffffffu;

struct Args {
  quads: u32,     // quads of columns of an embedding
  x_quads: u32,
  a_columns: u32, // values from one LoRA's A to the next
  b_quads: u32,   // quads from one LoRA's B to the next
  tokens: u32,    // rows of the embedding
  rank: u32,
  scale: f32,
}

@group(0) @binding(0) var<storage, read> rows: array<Row>;
@group(0) @binding(1) var<storage, read> loras: array<u32>;
@group(0) @binding(2) var<storage, read> a: array<f32>;   // [LoRAs, tokens · rank]
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read> b: array<vec4f>; // [LoRAs, rank · columns]
@group(0) @binding(5) var<storage, read_write> x: array<vec4f>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.y;
  let lora = loras[row];
  let source = rows[row].source;
  if (id.x >= args.quads || lora == NO_LORA || source >= FROM_INPUT) {
    return;
  }
  let first = lora * args.a_columns + min(source, args.tokens - 1u) * args.rank;
  var sum = vec4f(0.0);
  for (var r = 0u; r < args.rank; r++) {
    sum += a[first + r] * b[lora * args.b_quads + r * args.quads + id.x];
  }
  x[row * args.x_quads + id.x] += args.scale * sum;
}
