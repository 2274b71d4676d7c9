// Kernels of dense attention without matrix units, by what the adapter has and what the tape prefers.

import type { AttentionKernels } from '../gpu/adapter-profile.ts';
import type { Params } from '../gpu/linker.ts';
import type { Tape } from '../gpu/tape.ts';
import { attendTile, type AttendShape, type Dots } from './attend-tile.ts';

/** Lanes that cooperate; an adapter with smaller subgroups uses the plain variant. */
const LANES = 8;
/** Dimensions of the largest head that one workgroup computes whole. */
const LARGEST_WHOLE = 160;

/** Shaders of dense attention → the kernels of which they are. */
const KERNELS: readonly (readonly [shader: string, kernels: AttentionKernels])[] = [
  ['attend-matrix.wgsl', 'matrix'],
  ['attend-codes.wgsl', 'sage'],
  ['attend-choose.wgsl', 'sparse'],
  ['attend-window.wgsl', 'sparse'],
  ['attend-shared.wgsl', 'flash'],
  ['attend.wgsl', 'flash'],
  ['attend-plain.wgsl', 'plain'],
];

/** The kernels of dense attention among shaders that ran. */
export function attentionKernels(shaders: ReadonlySet<string>): AttentionKernels[] {
  const ran = KERNELS.filter(([shader]) => shaders.has(shader)).map(([, kernels]) => kernels);
  const isRounded = ran.includes('sage'); // attend-shared.wgsl then reads codes
  return [...new Set(ran)].filter((kernels) => !(isRounded && kernels === 'flash'));
}

export interface Variant {
  shader: string;
  /** Key under which its tile is tuned. */
  tuned?: string;
  params: Params;
  /** Number of workgroups among which a head's dimensions are divided. */
  parts: number;
  /** Queries per workgroup. */
  queriesAtOnce: number;
}

/** `dots` other than floats and sparse attention are computed only by kernels that have a tile in workgroup memory. */
export function variantOf(tape: Tape, shape: AttendShape, of: { dots: Dots; isSparse: boolean }): Variant {
  const isPlain = tape.plain || tape.attention.kernels === 'plain';
  const shared = isPlain ? null : attendTile(tape, shape, of);
  if (shared) {
    const { tuned, queries } = shared;
    const params = { ...shared.params, BLOCKS: of.isSparse ? 'listed' : 'all' };
    return { shader: 'attend-shared.wgsl', tuned, params, parts: 1, queriesAtOnce: queries };
  }
  const { dims } = shape;
  if (isPlain || tape.lanes < LANES) {
    const params = { QUADS: Math.ceil(dims / 128) };
    return { shader: 'attend-plain.wgsl', params, parts: 1, queriesAtOnce: 1 };
  }
  const { attend: profile } = tape.device.profile;
  const { teams } = profile;
  const { parts, ...held } = valueParts(dims, profile.valueQuads);
  const { tiles } = profile.tiles.find((row) => dims <= row.dims)!;
  return {
    shader: 'attend.wgsl',
    params: {
      TEAMS: teams,
      TILES: tiles,
      ...(dims <= profile.heldQueries ? { QUERIES: 'held', HEAD_QUADS: dims / 4 } : { QUERIES: 'read' }),
      VALUES: dims <= profile.fourValues ? 'four' : 'each',
      ...held,
    },
    parts,
    queriesAtOnce: LANES * tiles * teams,
  };
}

/** Distributes a head's dimensions over lanes, and over several workgroups if one cannot hold them. */
function valueParts(dims: number, most: number): { QUADS: number; SINGLES: number; parts: number } {
  if (dims > LARGEST_WHOLE) {
    const quads = Array.from({ length: most }, (_, i) => most - i).find((count) => dims % (32 * count) === 0);
    if (quads === undefined) throw new Error(`attend: heads of ${dims} are not a multiple of 32`);
    return { QUADS: quads, SINGLES: 0, parts: dims / (32 * quads) };
  }
  return dims % 8 === 0
    ? { QUADS: Math.floor(dims / 32), SINGLES: (dims % 32) / 8, parts: 1 }
    : { QUADS: Math.ceil(dims / 32), SINGLES: 0, parts: 1 };
}
