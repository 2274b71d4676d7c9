// y = or y += B of a row's LoRA times the output of lora-shrink.wgsl; a row without a LoRA gets zeros.
#import "lib/lora.wgsl"

const WORKGROUP = 32u;
const ADD = false;

struct Args {
  x_quads: u32,
  y_quads: u32,
  first_row: u32, // rows before this strip
}

@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read> loras: array<u32>; // LoRA of each row
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(4) var<storage, read> x: array<vec4f>; // [row][part][rank]: outputs of lora-shrink.wgsl

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let quad = id.x;
  let row = id.y;
  let lora = loras[args.first_row + row];
  let all = head();
  if (quad >= args.y_quads || (ADD && lora >= all.loras)) {
    return;
  }
  let columns = bitcast<vec4u>(factors[1]);
  var sums: vec4f;
  for (var i = 0u; i < select(0u, 4u, lora < all.loras); i++) {
    let column = 4u * quad + i;
    var part = u32(column >= columns.x) + u32(column >= columns.y);
    var part_row = column - select(select(columns.x, columns.y, part == 2u), 0u, part == 0u);
    var inside = column < columns.z;
    if (all.takes_turns == 1u) {
      part = i / 2u;
      part_row = 2u * quad + i % 2u;
      inside = 2u * part_row < columns.z;
    }
    let share = part_at(lora * all.parts + part);
    let values = row * args.x_quads + part * all.rank_quads;
    let b = share.b + part_row * share.quads;
    for (var j = 0u; j < select(0u, share.quads, inside); j++) {
      sums[i] += dot(x[values + j], factors[b + j]);
    }
  }
  let at = row * args.y_quads + quad;
  if (ADD) {
    sums = y[at] + sums;
  }
  y[at] = sums;
}
