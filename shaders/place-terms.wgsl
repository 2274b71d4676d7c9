// Terms of attention by the places of a query and of keys in a grid: y[query, head, j] = q · rows[query's row − j], and behind these
// q · columns[query's column − j]. Tables of another size than the grid needs are resized along their rows, linearly. An invocation per quad of y.
const WORKGROUP = 64u;

struct Args {
  quads: u32,          // quads of a row of y
  all_quads: u32,      // quads of the strip's rows
  terms: u32,          // heads · (rows + columns)
  first_row: u32,      // rows before this strip
  head_quads: u32,
  q_quads: u32,        // quads of columns from one row of q to the next
  q_first: u32,        // first quad of q's heads
  rows: u32,           // of the grid
  columns: u32,
  places_down: u32,    // rows of the table of rows
  places_across: u32,
  down_quads: u32,     // quads of columns from one row of a table to the next
  across_quads: u32,
}

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> down: array<vec4f>;   // [places, dims]; the middle one is for no distance
@group(0) @binding(2) var<storage, read> across: array<vec4f>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

// A place of a table that has `count` for the `wanted` ones: two rows, and the share of the second.
struct Place {
  first: u32,
  second: u32,
  share: f32,
}

fn place_of(at: u32, wanted: u32, count: u32) -> Place {
  let centre = max((f32(at) + 0.5) * f32(count) / f32(wanted) - 0.5, 0.0);
  let first = min(u32(centre), count - 1u);
  if (count == wanted) {
    return Place(at, at, 0.0);
  }
  return Place(first, min(first + 1u, count - 1u), centre - f32(first));
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let of_head = args.rows + args.columns;
  for (var i = id.x; i < args.all_quads; i += groups.x * WORKGROUP) {
    let row = i / args.quads;
    let token = (args.first_row + row) % (args.rows * args.columns);
    var values = vec4f();
    for (var u = 0u; u < 4u; u++) {
      let term = i % args.quads * 4u + u;
      if (term < args.terms) {
        let q0 = row * args.q_quads + args.q_first + term / of_head * args.head_quads;
        let key = term % of_head;
        var sum = 0.0;
        if (key < args.rows) {
          let at = token / args.columns + args.rows - 1u - key;
          let place = place_of(at, 2u * args.rows - 1u, args.places_down);
          for (var d = 0u; d < args.head_quads; d++) {
            let near = down[place.first * args.down_quads + d];
            sum += dot(q[q0 + d], mix(near, down[place.second * args.down_quads + d], place.share));
          }
        } else {
          let at = token % args.columns + args.columns - 1u - (key - args.rows);
          let place = place_of(at, 2u * args.columns - 1u, args.places_across);
          for (var d = 0u; d < args.head_quads; d++) {
            let near = across[place.first * args.across_quads + d];
            sum += dot(q[q0 + d], mix(near, across[place.second * args.across_quads + d], place.share));
          }
        }
        values[u] = sum;
      }
    }
    y[i] = values;
  }
}
