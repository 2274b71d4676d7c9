// Adapter-dependent choices as data: how kernels are divided into workgroups, how large a step is, how much memory is assumed.
// Kernels and the engine read the device's profile and never test which adapter it is. The values of `CPU` were measured on
// llvmpipe; those of the two GPU profiles are derived from the number of lanes that such adapters keep busy and the registers of a
// lane, and were not measured. What differs between families of GPUs stands in adapter-families.ts.

import { FAMILIES, type FamilyName } from './adapter-families.ts';
import type { AdapterSummary } from './adapter.ts';

/** What rows of activations are multiplied as. */
export type ActivationDtype = 'float' | 'int8';

/**
 * Kernels of dense attention, where several can compute it. `auto`: matrix units where the adapter has them, otherwise `flash`. `flash`: tiles
 * with online softmax in f32. `plain`: one query at a time, in f32. `matrix`: matrix units. `sage`: queries and keys in 8 bits. `sparse`: a
 * query sees a part of the keys.
 */
export type AttentionKernels = 'auto' | 'flash' | 'plain' | 'matrix' | 'sage' | 'sparse';

export interface AdapterProfile {
  name: 'cpu' | 'integrated' | 'discrete';
  /** null: a GPU of no known family, or none. */
  family: FamilyName | null;
  /** Lanes of a subgroup that kernels which fill a lane's registers require where the device can; null: the driver chooses. */
  subgroupSize: number | null;
  /** Minimum number of lanes of a workgroup that own columns of a product; a larger subgroup raises it to its own size. */
  columnLanes: number;
  /** Rows per tile of a product. */
  tileRows: {
    usual: number;
    winograd: number;
  };
  /**
   * Rows that a workgroup of the product for decode rows computes at once, 1 to 8: their sums fill a lane's registers. null: decode rows have
   * no kernels of their own, so that they sum like rows of prompts.
   */
  matvecRows: number | null;
  /**
   * Products of many rows share their inputs through workgroup memory, in tiles as large as leave so many workgroups; null: lanes broadcast rows
   * to each other.
   */
  sharedTiles: number | null;
  /** Maximum rows of such a tile, 16, 32 or 64: its sums fill a lane's registers. */
  sharedRows: number;
  /** Whether lanes load the next inputs of such a tile before they add the products of these. */
  loadsAhead: boolean;
  /**
   * int8: rows are rounded to 8 bits for their products with weights whose codes are integers, but not for those on matrix units. Profiles with
   * kernels for decode rows only.
   */
  activations: ActivationDtype;
  /** Queries of a decode row whose attention a workgroup computes at once: 1, 2, 4 or 8. */
  decodeQueries: number;
  /** Maximum sums, of four dimensions each, that a lane of attention over a prompt keeps. */
  promptSums: number;
  /** Most lanes of a workgroup that share a row in norms, and a head in rotations; null: one subgroup and one lane. */
  rowLanes: number | null;
  /**
   * Dense attention shares keys and values through workgroup memory, and a lane has at most so many sums; null: lanes broadcast weights to each
   * other.
   */
  attendSums: number | null;
  /** Most of them with queries and keys in 8 bits, whose scores take sums of integers, too. */
  codeSums: number;
  /** Parts that a product's K is divided into; null: one part. */
  splits: {
    most: number;
    /** Number of lanes that should be busy: K is divided until it is reached. */
    matmulLanes: number;
    convLanes: number;
  } | null;
  /**
   * Most multiply-adds of one dispatch, as far as its kernel can be divided: drivers end a dispatch that takes about 2 s. null: nothing ends
   * one, however long it takes.
   */
  dispatchWork: number | null;
  /** Whether 3×3 convolutions of stride 1 are faster in Winograd's form, which multiplies less and moves more data. */
  winograd: boolean;
  attention: {
    /** Minimum number of pages per chunk of a context, and maximum number of chunks. Each chunk has a workgroup of its own. */
    chunkPages: number;
    chunks: number;
  };
  attend: {
    /** Groups of eight lanes in a workgroup. */
    teams: number;
    /** Maximum number of quads of a head's dimensions that a lane sums, if a head is divided among workgroups. */
    valueQuads: number;
    /** Tiles of eight queries per team, by the largest head dimension for which they are used; ascending. */
    tiles: readonly { dims: number; tiles: number }[];
    /** Largest head dimension for which queries are kept in an array; 0: none. */
    heldQueries: number;
    /** Largest head dimension for which values are read as four quads at a time; 0: none. */
    fourValues: number;
  };
  /** Where kernels keep the state of a gated delta rule while they compute a step: in the sequence's slot, or in registers. */
  deltaState: 'slot' | 'registers';
  /** Invocations of a workgroup that samples. */
  sampleWorkgroup: number;
  /** Whether many workgroups sample a row of logits, in several dispatches; otherwise one does. Both draw the same tokens. */
  dividesSampling: boolean;
  /**
   * Maximum rows of a step of a text model, and of an embedding model. `few`: rows, ascending, for which text models have tapes that compute steps
   * of no more rows faster.
   */
  stepRows: { text: number; embedding: number; few: readonly number[] };
  /** Maximum images of a request that are drawn at once if no number is asked for. */
  imagesAtOnce: number;
  memory: {
    /** Share of the host's free memory that a device may take by default; 0: the device has memory of its own. */
    freeShare: number;
    /** Minimum initial budget in bytes. */
    least: number;
    /** Whether the budget may be raised by trying to allocate. */
    mayGrow: boolean;
  };
}

const GIB = 2 ** 30;

/** The last one is a whole tile. */
const FEW_ROWS = [1, 4, 16];

/** Settings that all profiles begin with; families of GPUs (adapter-families.ts) and options change them. */
const ALIKE = {
  family: null,
  subgroupSize: null,
  activations: 'float',
  sharedRows: 64,
  loadsAhead: true,
  decodeQueries: 8,
  promptSums: 16,
  codeSums: 64,
} as const;

/**
 * llvmpipe, SwiftShader, WARP. A load costs as much as many multiplications, and a barrier costs a hundred of them: hence larger
 * tiles, an undivided K, and one subgroup per workgroup.
 */
export const CPU: AdapterProfile = {
  ...ALIKE,
  name: 'cpu',
  columnLanes: 8,
  tileRows: { usual: 24, winograd: 32 },
  matvecRows: null,
  sharedTiles: null,
  rowLanes: null,
  attendSums: null,
  splits: null,
  dispatchWork: null,
  winograd: true,
  // The key heads alone occupy the few cores, and merging chunks would take a tenth more time.
  attention: { chunkPages: 2 ** 24, chunks: 1 },
  attend: {
    teams: 1,
    valueQuads: 8,
    // More queries share each load; with larger tiles the compile time rises from 2 s to 40 s.
    tiles: [
      { dims: 80, tiles: 3 },
      { dims: 160, tiles: 2 },
      { dims: Infinity, tiles: 1 },
    ],
    heldQueries: 160,
    fourValues: 80,
  },
  deltaState: 'slot',
  sampleWorkgroup: 64,
  dividesSampling: false,
  stepRows: { text: 256, embedding: 256, few: FEW_ROWS },
  // One image occupies all cores, and the values of several take more than the caches hold.
  imagesAtOnce: 1,
  memory: { freeShare: 0.6, least: 0, mayGrow: false },
};

/** Cards: dedicated memory, tens of thousands of lanes. */
const DISCRETE: AdapterProfile = {
  ...ALIKE,
  name: 'discrete',
  columnLanes: 32,
  tileRows: { usual: 16, winograd: 16 },
  matvecRows: 8,
  sharedTiles: 256,
  rowLanes: 256,
  // With four scores for each query and what is loaded meanwhile, a lane has 96 to 180 registers.
  attendSums: 64,
  splits: { most: 8, matmulLanes: 8192, convLanes: 16384 },
  // 1.2 s on a GeForce GT 1030 or a Radeon RX 550 (1.1 TFLOP/s in f32) that reaches a tenth of its peak.
  dispatchWork: 2 ** 36,
  winograd: false,
  attention: { chunkPages: 8, chunks: 64 },
  attend: {
    teams: 4,
    valueQuads: 4,
    // The largest number of tiles whose sums fit a lane's registers.
    tiles: [
      { dims: 64, tiles: 2 },
      { dims: Infinity, tiles: 1 },
    ],
    heldQueries: 0,
    fourValues: 0,
  },
  deltaState: 'registers',
  // A load takes half a microsecond: one workgroup of 256 would wait 0.3 ms for each pass over 151,936 logits.
  sampleWorkgroup: 256,
  dividesSampling: true,
  stepRows: { text: 512, embedding: 2048, few: FEW_ROWS },
  imagesAtOnce: 8,
  memory: { freeShare: 0, least: 4 * GIB, mayGrow: true },
};

/**
 * Integrated graphics and phones: they share the host's memory and have thousands of lanes, so that K is divided half as far as on cards.
 */
export const INTEGRATED: AdapterProfile = {
  ...DISCRETE,
  name: 'integrated',
  // Eight rows spill registers on Adreno.
  matvecRows: 4,
  splits: { most: 8, matmulLanes: 4096, convLanes: 8192 },
  // 0.9 s on Intel's UHD Graphics 620 or AMD's Vega 3 (0.4 TFLOP/s in f32) that reaches a tenth of its peak.
  dispatchWork: 2 ** 34,
  sharedTiles: 64,
  // macOS does not count reclaimable memory as free, so the share is only the initial budget.
  memory: { freeShare: 0.6, least: 2 * GIB, mayGrow: true },
};

export const PROFILES: readonly AdapterProfile[] = [CPU, INTEGRATED, DISCRETE];

/** Vendors of no family, as WebGPU names them, whose adapters share the host's memory. */
const INTEGRATED_VENDORS = new Set(['arm', 'img-tec', 'broadcom']);

/**
 * Returns the profile of an adapter: that of its family, with narrower tiles where its subgroups cannot be pinned to the size that the family
 * wants; in doubt that of a card.
 */
export function profileOf(summary: AdapterSummary): AdapterProfile {
  const { software, vendor } = summary;
  if (software) return CPU;
  const family = FAMILIES.find(({ vendors, is }) => vendors.includes(vendor) && (is?.(summary) ?? true));
  if (!family) return INTEGRATED_VENDORS.has(vendor) ? INTEGRATED : DISCRETE;
  const { name, traits, unpinned } = family;
  const profile = { ...(family.isIntegrated(summary) ? INTEGRATED : DISCRETE), family: name, ...traits };
  return canPin(summary, profile.subgroupSize) ? profile : { ...profile, ...unpinned };
}

function canPin(
  { features, subgroupMinSize, subgroupMaxSize }: AdapterSummary,
  size: number | null,
): boolean {
  if (size === null || !features.includes('subgroup-size-control')) return false;
  return subgroupMinSize <= size && size <= subgroupMaxSize;
}

/** The profile with kernels that sum in the same order in all rows. */
export function withOnePhase(profile: AdapterProfile): AdapterProfile {
  return { ...profile, matvecRows: null, sharedTiles: null };
}

/** Returns the initial budget in bytes if the caller sets none. `free`: bytes of the host. */
export function firstBudget({ memory: { freeShare, least } }: AdapterProfile, free: number): number {
  return Math.max(least, Math.floor(free * freeShare));
}

/** Share of the host's free memory that weights beside the device may take; the rest is for everything else that runs meanwhile. */
const HOST_SHARE = 3 / 4;

/** Returns the bytes of host memory for weights that are not on a device with this budget. `free`: bytes of the host. */
export function hostBudget({ memory }: AdapterProfile, free: number, memoryBudget: number): number {
  const shared = memory.freeShare > 0 ? memoryBudget : 0;
  return Math.max(0, Math.floor(HOST_SHARE * free) - shared);
}
