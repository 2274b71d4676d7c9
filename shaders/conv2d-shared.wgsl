// 3×3 and 1×1 convolutions of NHWC images as one matrix product, on GPUs: rows are pixels, k's run tap by tap over the channels. A workgroup
// computes a tile of lib/shared-tile.wgsl, so that neither the batch nor the strip changes a sum. With LOADS_AHEAD the next k's are
// loaded before the sums of these are added.
#import "weights/$W.wgsl"
#import "lib/addend.$ADDEND.wgsl"
#import "lib/residual.$RESIDUAL.wgsl"
#import "lib/activation.wgsl"
#import "lib/conv2d-args.wgsl"
#import "lib/pixels.wgsl"
#import "lib/pixel-floats.wgsl"
#import "lib/rolled.wgsl"
#import "lib/shared-tile.wgsl"

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  prepare_digits(local, LANES);
  let first = args.first + workgroup.y * ROWS;
  let x_row_quad = local / 4u;
  let x_quad = local % 4u;
  var pixels: array<Pixel, 4>;
  for (var i = 0u; i < 4u; i++) {
    pixels[i] = locate(first + x_row_quad % ALL_ROW_QUADS * 4u + i);
  }
  let w_quad = local % 32u;
  let w_step = local / 32u % STEPS;
  let w_block = min((workgroup.x * 32u + w_quad) / 8u, args.groups - 1u) * args.blocks;
  let w_lane = w_quad % 8u;

  let row_lane = local / COLUMN_LANES;
  let column_lane = local % COLUMN_LANES;
  var c: Sums;
  var held: Four;
  var data: Block;
  var pack: Pack;
  let turns = 2u * args.blocks;
  for (var next = 0u; next <= turns; next++) {
    if (LOADS_AHEAD && next > 0u) {
      share_x(held, local);
      share_w(pack, data, next - 1u, local);
      workgroupBarrier();
    }
    if (next < turns) {
      let block = next / 2u;
      let tap = block / args.tap_blocks;
      let quad = (block - tap * args.tap_blocks) * 8u + next % 2u * 4u + x_quad;
      let is_channel = quad < args.channel_quads;
      held = Four(
        load(select(0xffffffffu, under(pixels[0], tap), is_channel), quad),
        load(select(0xffffffffu, under(pixels[1], tap), is_channel), quad),
        load(select(0xffffffffu, under(pixels[2], tap), is_channel), quad),
        load(select(0xffffffffu, under(pixels[3], tap), is_channel), quad),
      );
      if (!LOADS_AHEAD) {
        share_x(held, local);
      }
      data = load_block(w_block + block, w_lane);
      pack = load_pack(w_block + block, next % 2u * STEPS + w_step, w_lane);
      if (!LOADS_AHEAD) {
        share_w(pack, data, next, local);
        workgroupBarrier();
      }
    }
    if ((LOADS_AHEAD && next > 0u) || (!LOADS_AHEAD && next < turns)) {
      add_products(&c, row_lane, column_lane);
      workgroupBarrier();
    }
  }

  var sums = c; // so that the loops above keep theirs in registers
  for (var j = loop_start(workgroup.y); j < COLUMN_QUADS; j++) {
    let column = workgroup.x * 32u + j * COLUMN_LANES + column_lane;
    let y_quad = args.first_group * 8u + column;
    if (column / 8u < args.groups && y_quad < args.y_quads) {
      for (var i = loop_start(workgroup.y); i < ROW_QUADS; i++) {
        for (var r = loop_start(workgroup.y); r < 4u; r++) {
          let pixel = first + (i * ROW_LANES + row_lane) * 4u + r;
          if (pixel < args.last) {
            let at = (pixel - args.y_first) * args.y_quads + y_quad;
            let image = pixel / (args.y_height * args.y_width);
            y[at] = activate(sums[(i * COLUMN_QUADS + j) * 4u + r] + addend(image, y_quad) + residual_at(at));
          }
        }
      }
    }
  }
}
