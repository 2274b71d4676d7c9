// 3×3 and 1×1 convolutions of NHWC images as one matrix product on matrix units: rows are pixels, k's run tap by tap over the channels. A
// workgroup computes a tile of lib/matrix-tile.wgsl, so that neither the batch nor the strip changes a sum. Pixels and weights are f16, sums f32.
// With LOADS_AHEAD the next k's are loaded before the products of these are added.
#import "weights/$W.wgsl"
#import "lib/addend.$ADDEND.wgsl"
#import "lib/residual.$RESIDUAL.wgsl"
#import "lib/activation.wgsl"
#import "lib/conv2d-args.wgsl"
#import "lib/pixels.wgsl"
#import "lib/pixel-halves.wgsl"
#import "lib/matrix-tile.wgsl"
enable f16;

// Quads that a lane stores at once, and times that it does so for a piece: lanes of small subgroups have few registers.
const AT_ONCE = min(FRAGMENT_ROWS, SUBGROUP * SUBGROUP / 64u) * 8u / SUBGROUP;
const STORES = FRAGMENT_ROWS * 8u / SUBGROUP / AT_ONCE;

fn compute_tile(workgroup: vec3u, local: u32, subgroup: u32, lane: u32) {
  prepare_digits(local, LANES);
  let first = args.first + workgroup.y * ROWS;
  // Each lane loads eight channels of each of some pixels, and packs of weights of four columns.
  let eighth = local % 4u;
  var pixels: array<Pixel, HELD_ROWS>;
  var x_at: array<u32, HELD_ROWS>;
  for (var i = 0u; i < HELD_ROWS; i++) {
    pixels[i] = locate(first + (i * LANES + local) / 4u);
    x_at[i] = under(pixels[i], 0u);
  }
  let w_lane = local % 8u;
  let w_step = local / 8u % STEPS;
  var w_group: array<u32, HELD_PACKS>;
  var w_block: array<u32, HELD_PACKS>;
  for (var i = 0u; i < HELD_PACKS; i++) {
    w_group[i] = (i * LANES + local) / (8u * STEPS) % 4u;
    w_block[i] = min(workgroup.x * 4u + w_group[i], args.groups - 1u) * args.blocks;
  }

  let row = subgroup / PARTS_ACROSS * PART_ROWS;
  let column = subgroup % PARTS_ACROSS * PART_COLUMNS;
  var c: Sums;
  var held: array<vec4u, HELD_ROWS>;
  var data: array<Block, HELD_PACKS>;
  var packs: array<Pack, HELD_PACKS>;
  var tap = 0u;
  var x_block = 0u; // of the tap's
  for (var next = 0u; next <= args.blocks; next++) {
    if (LOADS_AHEAD && next > 0u) {
      share_turn(held, packs, data, local, w_step, w_group);
      workgroupBarrier();
    }
    if (next < args.blocks) {
      if (x_block == args.tap_blocks) {
        x_block = 0u;
        tap++;
        for (var i = 0u; i < HELD_ROWS; i++) {
          x_at[i] = under(pixels[i], tap);
        }
      }
      for (var i = 0u; i < HELD_ROWS; i++) {
        held[i] = load(x_at[i], x_block * 4u + eighth);
      }
      x_block++;
      for (var i = 0u; i < HELD_PACKS; i++) {
        data[i] = load_block(w_block[i] + next, w_lane);
        packs[i] = load_pack(w_block[i] + next, w_step, w_lane);
      }
      if (!LOADS_AHEAD) {
        share_turn(held, packs, data, local, w_step, w_group);
        workgroupBarrier();
      }
    }
    if ((LOADS_AHEAD && next > 0u) || (!LOADS_AHEAD && next < args.blocks)) {
      add_products(&c, row, column, lane);
      workgroupBarrier();
    }
  }

  let image_pixels = args.y_height * args.y_width;
  for (var piece = 0u; piece < turns(PIECES); piece++) {
    keep_piece(&c, piece, subgroup, lane);
    workgroupBarrier();
    let first_pixel = first + row + piece / (PART_COLUMNS / 32u) * FRAGMENT_ROWS;
    let quad = workgroup.x * 32u + column / 4u + piece % (PART_COLUMNS / 32u) * 8u + lane % 8u;
    let y_quad = args.first_group * 8u + quad;
    let is_column = quad / 8u < args.groups && y_quad < args.y_quads;
    for (var turn = 0u; turn < select(STORES, min(STORES, args.blocks * STORES), STORES > 1u); turn++) {
      let first_row = (turn * AT_ONCE * SUBGROUP + lane) / 8u;
      // All addends are loaded before the first is used. Quads outside the image load those of the last pixel and column.
      var added = array<vec4f, AT_ONCE>();
      for (var i = 0u; i < turns(AT_ONCE); i++) {
        let pixel = min(first_pixel + first_row + i * (SUBGROUP / 8u), args.last - 1u);
        let column_quad = min(y_quad, args.y_quads - 1u);
        added[i] = addend(pixel / image_pixels, column_quad) + residual_at((pixel - args.y_first) * args.y_quads + column_quad);
      }
      for (var i = 0u; i < turns(AT_ONCE); i++) {
        let y_row = first_row + i * (SUBGROUP / 8u);
        let pixel = first_pixel + y_row;
        if (is_column && pixel < args.last) {
          let sum = factor_of(pixel / image_pixels) * kept(subgroup, y_row, lane % 8u);
          y[(pixel - args.y_first) * args.y_quads + y_quad] = activate(sum + added[i]);
        }
      }
    }
    workgroupBarrier();
  }
}
