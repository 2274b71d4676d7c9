// Keys and values of all heads, as products with latents made them, into pages: a key is followed by the rotated dimensions, which heads share. An
// invocation writes four dimensions of a token's key or value.
#import "kv/write.$KV.wgsl"

const WORKGROUP = 64u;

struct Args {
  heads: u32,
  plain_quads: u32,   // quads of dimensions of a key that are not rotated
  rotated_quads: u32, // of those that are
  value_quads: u32,   // of a value
  x_quads: u32,       // quads of columns from one row of keys to the next
  x_head_quads: u32,  // from one head to the next
  v_quads: u32,       // the same of values
  v_head_quads: u32,
  v_first: u32,       // quads before a head's value
  turned_quads: u32,  // quads of columns from one row of rotated dimensions to the next
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> v: array<vec4f>;
@group(0) @binding(2) var<storage, read> turned: array<vec4f>;
@group(0) @binding(3) var<uniform> args: Args;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let head = id.z;
  let stored = id.y * args.heads + head;
  let key_quads = args.plain_quads + args.rotated_quads;
  if (id.x < 32u * key_quads) { // tokens of a dimension stand together
    let token = id.x % 32u;
    let quad = id.x / 32u;
    let row = id.y * 32u + token;
    var four: vec4f;
    if (quad < args.plain_quads) {
      four = x[row * args.x_quads + head * args.x_head_quads + quad];
    } else {
      four = turned[row * args.turned_quads + quad - args.plain_quads];
    }
    write_key(stored, token, 4u * quad, 4u * key_quads, four.xy);
    write_key(stored, token, 4u * quad + 2u, 4u * key_quads, four.zw);
    return;
  }
  let at = id.x - 32u * key_quads; // dimensions of a token stand together
  if (at < 32u * args.value_quads) {
    let token = at / args.value_quads;
    let quad = at % args.value_quads;
    let four = v[(id.y * 32u + token) * args.v_quads + head * args.v_head_quads + args.v_first + quad];
    write_value(stored, token, 4u * quad, 4u * args.value_quads, four.xy);
    write_value(stored, token, 4u * quad + 2u, 4u * args.value_quads, four.zw);
  }
}
