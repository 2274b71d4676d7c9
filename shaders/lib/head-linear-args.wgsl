// Arguments and operands of products with a matrix for each head, and where the columns of one lie.
struct Args {
  heads: u32,
  rows: u32,
  x_quads: u32,      // quads of columns from one row of x to the next
  x_head_quads: u32, // and from one head to the next
  y_quads: u32,
  y_head_quads: u32,
  quads: u32,        // quads of a head's columns that take part
  first_quad: u32,   // those before them
  k_quads: u32,      // quads of k's
  blocks: u32,       // K / 32
  head_groups: u32,  // groups of 32 columns from one head to the next
  first_group: u32,  // groups before this window
  groups: u32,       // groups in this window
  first_head: u32,   // the first head with columns in this window
  scale: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

struct Place {
  group: u32,   // within the window; a valid one even if the columns are outside
  lane: u32,
  inside: bool,
}

// Four columns of a head, counted from those that take part.
fn place_of(head: u32, quad: u32) -> Place {
  let column = args.first_quad + quad;
  let group = head * args.head_groups + column / 8u - args.first_group; // wraps round before the window
  return Place(min(group, args.groups - 1u), column % 8u, group < args.groups);
}

// Whether some of the head's columns that take part lie before this window.
fn begins_before(head: u32) -> bool {
  return head * args.head_groups + args.first_quad / 8u < args.first_group;
}

// Rows beyond the last are computed and not stored.
fn x_quad(row: u32, head: u32, quad: u32) -> vec4f {
  return x[min(row, args.rows - 1u) * args.x_quads + head * args.x_head_quads + quad];
}
