// Paged attention of a prompt's rows on matrix units, with online softmax: a workgroup computes a tile of lib/softmax-tile.wgsl, of queries of one tile
// of rows and key head (rows × query heads of that key head), page by page. Keys and values are f16, as pages hold them or made of codes; each query is
// multiplied by a power of two and rounded to f16. Pages that are masked for a query change nothing, so its result does not depend on
// the other queries.
#import "lib/attention-args.wgsl"
#import "lib/attention-inputs.wgsl"
#import "lib/batch.wgsl"
#import "lib/cap.$CAP.wgsl"
#import "lib/row-padding.wgsl"
#import "lib/sinks.$SINKS.wgsl"
#import "lib/softmax-tile.wgsl"
#import "lib/softmax-row.wgsl"
#import "lib/page-lines.$LINES.wgsl"
enable f16;

const LOG2E = 1.4426950408889634;
const LOADS_AHEAD = true; // whether there are registers for the next keys and values during the products of these

fn compute_tile(workgroup: vec3u, local: u32, subgroup: u32, lane: u32) {
  let tile = tiles[args.first_tile + workgroup.x];
  let kv_head = workgroup.y;
  let share = args.heads / args.kv_heads;
  let queries = tile.rows * share;
  let first = workgroup.z * ROWS;
  if (first >= queries) {
    return;
  }
  let last = min(first + ROWS, queries) - 1u;
  let first_position = tile.start + first / share;
  let last_position = tile.start + last / share;
  let first_page = first_page_of(tile, first_position);
  let last_page = last_page_of(tile, last_position);

  // From the first page that all queries see whole to the first one after.
  let whole_pages = vec2u((first_seen(last_position) + BLOCK_KEYS - 1u) / BLOCK_KEYS, seen_by(tile, first_position) / BLOCK_KEYS);

  let query = first + local / PER_ROW;
  let own = min(query, last);
  let position = tile.start + own / share;
  let head = kv_head * share + own % share;
  let q0 = (tile.first_row + own / share) * args.q_quads + head * (args.dims / 4u);
  let exponent = share_query(q0, args.dims / 4u, local);
  let scale = power_of_two(clamp(exponent, -126, 127));

  let part = part_of(subgroup);
  var state = RowState(first_seen(position), seen_by(tile, position), MASKED, 0.0);
  var out = Outs();
  var held: Lines;
  if (LOADS_AHEAD) {
    held = load_keys(head_of(tile, first_page, kv_head), local);
  }
  for (var page = first_page; page <= last_page; page++) {
    let at = head_of(tile, page, kv_head);
    if (!LOADS_AHEAD) {
      held = load_keys(at, local);
    }
    share_keys(held, local);
    workgroupBarrier();
    if (LOADS_AHEAD) {
      held = load_values(at, local);
    }
    keep_scores(part, lane);
    workgroupBarrier();
    if (!LOADS_AHEAD) {
      held = load_values(at, local);
    }
    share_values(held, local);
    if (LOADS_AHEAD) {
      held = load_keys(head_of(tile, min(page + 1u, last_page), kv_head), local);
    }
    let is_partly = page >= whole_pages.y || page < whole_pages.x;
    let factor = weigh(&state, local, page, is_partly, scale, 0);
    if (workgroupUniformLoad(&grown) == page + 1u) {
      scale_rows(part, lane, &out, local, factor);
    }
    add_values(part, lane, &out);
    workgroupBarrier();
  }

  let lift = exp2(-LIFT);
  let rate = lift / total_of(Met(state.largest / LOG2E, row_total(local, state.total) * lift), head);
  let y0 = (tile.first_row + own / share) * args.y_quads;
  store_rows(part, lane, &out, local, 4u * y0 + head * args.dims, rate, query <= last);
  if (head + 1u == args.heads && query <= last) { // the last head also writes the padding after its rows' columns
    clear_padding(tile.first_row + own / share, args.dims / 4u, local % PER_ROW, PER_ROW);
  }
}

// The first token that a query at `position` sees.
fn first_seen(position: u32) -> u32 {
  let reach = reach_of(position) + 1u;
  return reach - min(reach, args.window);
}

fn head_of(tile: Tile, page: u32, kv_head: u32) -> u32 {
  return pages[tile.pages + page] * args.kv_heads + kv_head;
}

// Scores are without biases: the other arguments of `scored` are unused.
fn shifted_scores(scores: vec4f, scale: f32, shift: f32) -> vec4f {
  return fma(scored(scores * scale, 0u, 0u, vec4u(0u)), vec4f(LOG2E), vec4f(shift));
}
