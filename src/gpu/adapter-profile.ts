// Adapter-dependent choices as data: how kernels are cut into workgroups, how large a step is, how much memory is assumed. Kernels and
// the engine read a device's profile; none of them asks which adapter it is. Figures of `CPU` were measured on llvmpipe; those of the two
// GPU profiles follow from how many lanes such adapters keep busy and how many registers a lane has, and were not measured.

import type { AdapterSummary } from './adapter.ts';

export interface AdapterProfile {
  name: 'cpu' | 'integrated' | 'discrete';
  /** Lanes of a workgroup that own columns of a product, at least; a larger subgroup raises them to its own size. */
  columnLanes: number;
  /** Rows of a tile of a product. */
  tileRows: {
    usual: number;
    winograd: number;
  };
  /** Parts that a product's K is divided into; null: one part. */
  splits: {
    most: number;
    /** Lanes that should be busy: K is divided until there are so many. */
    matmulLanes: number;
    convLanes: number;
  } | null;
  /** Whether 3×3 convolutions of stride 1 gain by Winograd's form, which multiplies less and moves more. */
  winograd: boolean;
  /** Keeps the loop over a convolution's taps a loop: unrolled, it compiles several times as long. */
  rolledTaps: boolean;
  attention: {
    /** Pages of a chunk of a context, at least, and chunks of a context at most. Each chunk has a workgroup of its own. */
    chunkPages: number;
    chunks: number;
  };
  attend: {
    /** Groups of eight lanes in a workgroup. */
    teams: number;
    /** Quads of a head's dimensions that a lane sums, at most, where a head is divided among workgroups. */
    valueQuads: number;
    /** Tiles of eight queries that a team takes, by the largest head dimension that they are for; in ascending order. */
    tiles: readonly { dims: number; tiles: number }[];
    /** Largest head dimension whose queries are kept in an array; 0: none. */
    heldQueries: number;
    /** Largest head dimension whose values are read as four quads at a time; 0: none. */
    fourValues: number;
  };
  /** Invocations that sample one row of logits. */
  sampleWorkgroup: number;
  /** Rows of the largest step of a text model, and of an embedding model. */
  stepRows: { text: number; embedding: number };
  memory: {
    /** Share of the host's free memory that a device may take by default; 0: memory is not the host's. */
    freeShare: number;
    /** The least budget to begin with, in bytes. */
    least: number;
    /** Whether the budget may be raised by trying to allocate. */
    mayGrow: boolean;
  };
}

const GIB = 2 ** 30;

/**
 * llvmpipe, SwiftShader, WARP. Every load costs as much as many multiplications and a barrier costs a hundred: larger tiles, no
 * divided K, one subgroup a workgroup.
 */
export const CPU: AdapterProfile = {
  name: 'cpu',
  columnLanes: 8,
  tileRows: { usual: 24, winograd: 32 },
  splits: null,
  winograd: true,
  rolledTaps: true,
  // A few cores are occupied by key heads alone, and merging chunks costs them a tenth.
  attention: { chunkPages: 2 ** 24, chunks: 1 },
  attend: {
    teams: 1,
    valueQuads: 8,
    // More queries share a load; beyond these compile times rise from 2 s to 40.
    tiles: [
      { dims: 80, tiles: 3 },
      { dims: 160, tiles: 2 },
      { dims: Infinity, tiles: 1 },
    ],
    heldQueries: 160,
    fourValues: 80,
  },
  sampleWorkgroup: 64,
  stepRows: { text: 256, embedding: 256 },
  memory: { freeShare: 0.6, least: 0, mayGrow: false },
};

/** NVIDIA, AMD Radeon RX and Pro, Intel Arc cards: memory of their own, tens of thousands of lanes. */
const DISCRETE: AdapterProfile = {
  name: 'discrete',
  columnLanes: 32,
  tileRows: { usual: 16, winograd: 16 },
  splits: { most: 8, matmulLanes: 8192, convLanes: 16384 },
  winograd: false,
  rolledTaps: false,
  attention: { chunkPages: 8, chunks: 64 },
  attend: {
    teams: 4,
    valueQuads: 4,
    // A lane's registers hold the sums of so many tiles.
    tiles: [
      { dims: 64, tiles: 2 },
      { dims: Infinity, tiles: 1 },
    ],
    heldQueries: 0,
    fourValues: 0,
  },
  // A load takes half a microsecond and waits for the one before: 64 invocations pass over 151,936 logits in 1.2 ms, 256 in 0.3.
  sampleWorkgroup: 256,
  stepRows: { text: 512, embedding: 2048 },
  memory: { freeShare: 0, least: 4 * GIB, mayGrow: true },
};

/** Apple, Intel and AMD graphics within the processor, phones: the host's memory, thousands of lanes, so that K is divided half as far as on cards. */
export const INTEGRATED: AdapterProfile = {
  ...DISCRETE,
  name: 'integrated',
  splits: { most: 8, matmulLanes: 4096, convLanes: 8192 },
  // macOS does not count memory as free that it would give back at once, so the share is only a beginning.
  memory: { freeShare: 0.6, least: 2 * GIB, mayGrow: true },
};

export const PROFILES: readonly AdapterProfile[] = [CPU, INTEGRATED, DISCRETE];

/** Vendors, as WebGPU names them, whose adapters share the host's memory. */
const INTEGRATED_VENDORS = new Set(['apple', 'qualcomm', 'arm', 'img-tec', 'samsung', 'broadcom']);

/** WebGPU does not say what kind an adapter is: its vendor, architecture and description decide, and a card is assumed in doubt. */
export function profileOf(summary: AdapterSummary): AdapterProfile {
  const { software, vendor, architecture, description, device } = summary;
  if (software) return CPU;
  const name = `${device} ${description}`;
  if (INTEGRATED_VENDORS.has(vendor)) return INTEGRATED;
  // Arc cards are of architectures that end in hpg (xe-hpg, xe-2hpg).
  if (vendor === 'intel') return architecture.endsWith('hpg') ? DISCRETE : INTEGRATED;
  if (vendor === 'nvidia') return /Tegra|Orin|Xavier|Thor|GB10/i.test(name) ? INTEGRATED : DISCRETE;
  if (vendor === 'amd') return isRadeonCard(name) ? DISCRETE : INTEGRATED;
  return DISCRETE;
}

/** Cards carry RX, Pro, VII or Instinct in their names; `Radeon 780M` and `Radeon Graphics` are within processors. Without a name: a card. */
function isRadeonCard(name: string): boolean {
  return name.trim() === '' || /\b(RX|PRO|VII|Instinct|MI\d+|FirePro)\b/i.test(name);
}
