// Latents of a row: the normed ones and the key that all heads rotate alike go to the row's page, as one key. The rotated dimensions of each
// query go behind the columns that head-linear-across.wgsl fills. An invocation writes four dimensions.
#import "lib/pairs.$PAIRS.wgsl"
#import "lib/rotate.fours.wgsl"
#import "lib/turned.rope.wgsl"
#import "kv/write-keys.$KV.wgsl"

const WORKGROUP = 64u;
const EXPANDED = false; // whether queries keep the dimensions that are not rotated, for keys that are made of latents; otherwise y has room for latents there

struct Args {
  heads: u32,
  rank: u32,        // dimensions of a latent, a multiple of 4
  rotated: u32,     // dimensions behind it, a multiple of 4
  head_pairs: u32,  // pairs of columns from one query to the next, as projected
  q_pairs: u32,     // pairs of columns from one row of queries to the next
  latent_pairs: u32,
  y_pairs: u32,
  rope_quads: u32,  // quads of columns from one row of rope to the next
  scale: f32,       // factor on queries
}

@group(0) @binding(0) var<storage, read> latents: array<vec2f>; // rank + rotated columns
@group(0) @binding(2) var<storage, read> places: array<u32>; // page · 32 + position in the page, of each row
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read> q: array<vec2f>; // of each head: columns that are not rotated, then those that are
@group(0) @binding(5) var<storage, read_write> y: array<vec2f>; // of each head: rank + rotated columns

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.y;
  let token = places[row] % 32u;
  let latent_fours = args.rank / 4u;
  if (id.x < latent_fours) {
    let first = row * args.latent_pairs + 2u * id.x;
    for (var i = 0u; i < 2u; i++) {
      write_key(places[row] / 32u, token, 4u * id.x + 2u * i, args.rank + args.rotated, latents[first + i]);
    }
    return;
  }
  if (EXPANDED && id.x >= latent_fours + (args.heads + 1u) * args.rotated / 4u) {
    keep_plain(row, id.x - latent_fours - (args.heads + 1u) * args.rotated / 4u);
    return;
  }
  let fours = args.rotated / 4u;
  let head = (id.x - latent_fours) / fours; // the one behind the queries is the key
  if (head > args.heads) {
    return;
  }
  let is_query = head < args.heads;
  let of_query = row * args.q_pairs + (head + 1u) * args.head_pairs - args.rotated / 2u;
  let base = select(row * args.latent_pairs + args.rank / 2u, of_query, is_query);
  rotate_head(row, head, token, base, select(1.0, args.scale, is_query), (id.x - latent_fours) % fours, fours);
  if (head + 1u == args.heads && (id.x - latent_fours) % fours == 0u) { // also the padding after the row's columns
    for (var i = args.heads * (before_rotated() + args.rotated) / 2u; i < args.y_pairs; i++) {
      y[row * args.y_pairs + i] = vec2f(0.0);
    }
  }
}

fn value(base: u32, d: u32, scale: f32, is_query: bool) -> vec2f {
  if (is_query) {
    return q[base + d / 2u] * scale;
  }
  return latents[base + d / 2u];
}

// Columns of a head of y before those that are rotated.
fn before_rotated() -> u32 {
  return select(args.rank, 2u * args.head_pairs - args.rotated, EXPANDED);
}

// Four dimensions of a query that are not rotated.
fn keep_plain(row: u32, four: u32) {
  let plain_pairs = before_rotated() / 2u;
  let head = 2u * four / plain_pairs;
  if (head < args.heads) {
    let pair = head * args.head_pairs + 2u * four % plain_pairs;
    for (var i = 0u; i < 2u; i++) {
      y[row * args.y_pairs + pair + i] = q[row * args.q_pairs + pair + i] * args.scale;
    }
  }
}

fn put_turned(row: u32, head: u32, token: u32, d: u32, pair: vec2f) {
  if (head < args.heads) {
    let before = before_rotated();
    y[row * args.y_pairs + (head * (before + args.rotated) + before + d) / 2u] = pair;
  } else {
    write_key(places[row] / 32u, token, args.rank + d, args.rank + args.rotated, pair);
  }
}
