// Families of GPUs as data: which names of adapters belong to each, and in what its kernels differ from those of GPUs in general. What a trait
// rests on stands beside it; registers and spills are those that the compilers of Mesa 26.1 (RADV: 25.0) tell of these kernels
// (scripts/bench/README.md), and nothing was timed on a GPU of these families but an H100. A tile of a product is a workgroup of 128 lanes.

import type { AdapterSummary } from './adapter.ts';

/** Choices in which families differ; what they mean stands at AdapterProfile. */
export interface FamilyTraits {
  subgroupSize: number | null;
  matvecRows: number;
  sharedTiles: number;
  sharedRows: number;
  loadsAhead: boolean;
  decodeQueries: number;
  promptSums: number;
  attendSums: number;
  codeSums: number;
}

export type FamilyName =
  | 'nvidia'
  | 'amd-gcn'
  | 'amd-rdna'
  | 'intel-xe2'
  | 'intel-xe-hpg'
  | 'intel-xe-lp'
  | 'apple-large'
  | 'apple'
  | 'adreno';

export interface Family {
  name: FamilyName;
  vendors: readonly string[];
  /** Tells the family from those of the same vendors that follow in the list; left out: it is the last one. */
  is?: (summary: AdapterSummary) => boolean;
  /** Whether the adapter shares the host's memory; WebGPU does not report it. */
  isIntegrated: (summary: AdapterSummary) => boolean;
  traits: Partial<FamilyTraits>;
  /** Traits where the device cannot pin subgroups. */
  unpinned?: Partial<FamilyTraits>;
}

const always = (): boolean => true;
const nameOf = ({ device, description }: AdapterSummary): string => `${device} ${description}`;

/** Names of Intel's cards: gen-12hp (Arc A), xe-2hpg (Arc B); those of integrated graphics end in lp or lpg. Source: Dawn's gpu_info.json. */
const isIntelIntegrated = ({ architecture }: AdapterSummary): boolean => !/hpg?$/.test(architecture);

/**
 * Names of cards contain RX, Pro, VII or Instinct; `Radeon 780M` and `Radeon Graphics` are integrated. An adapter without a name counts as
 * a card.
 */
const isRadeonIntegrated = (summary: AdapterSummary): boolean =>
  nameOf(summary).trim() !== '' && !/\b(RX|PRO|VII|Instinct|MI\d+|FirePro)\b/i.test(nameOf(summary));

/**
 * A thread has 128 registers as wide as the least subgroup, and drivers compile for subgroups of twice that width: a value takes two. With pinned
 * subgroups and no loads ahead, tiles of 64 rows need 102 to 129 (convolutions in q6_k 142), and spill up to 29 if loads are ahead; four decode rows need
 * 75 to 95, and eight take twice the cycles a row. Attention over a prompt spills 46 to 64 with the sums of other GPUs.
 */
const PINNED = { matvecRows: 4, loadsAhead: false, decodeQueries: 4, promptSums: 8, attendSums: 16 } as const;
/** With unpinned subgroups these need least: products spill 0 to 10 registers, q2_k and q6_k up to 51, attention over prompts up to 63. */
const UNPINNED = {
  ...{ subgroupSize: null, matvecRows: 2, sharedRows: 16, loadsAhead: false },
  ...{ decodeQueries: 2, promptSums: 4, attendSums: 16 },
} as const;

/** The first that an adapter belongs to is its own. */
export const FAMILIES: readonly Family[] = [
  {
    name: 'nvidia', // 20 to 144 multiprocessors, each with registers for 3 or 4 tiles of 64 rows (120 to 136 of a lane's 255)
    vendors: ['nvidia'],
    isIntegrated: (summary) => /Tegra|Orin|Xavier|Thor|GB10/i.test(nameOf(summary)),
    traits: {},
  },
  {
    // GCN and CDNA: subgroups of 64 only; cards have 36 to 304 units. A SIMD has registers for two subgroups of at most 128 a lane, or for one of more. On
    // Vega 10 tiles of 64 rows need 96 to 128 without loads ahead (convolutions in q2_k 200); with them K-quants need up to 228, and half more cycles.
    // Sums of 64 in dense attention need 176 over heads of 128, and a quarter more cycles a query than 32 do.
    name: 'amd-gcn',
    vendors: ['amd'],
    is: ({ architecture, subgroupMinSize }) => /^(gcn|cdna)/.test(architecture) || subgroupMinSize >= 64,
    isIntegrated: isRadeonIntegrated,
    traits: { loadsAhead: false, attendSums: 32 },
  },
  {
    name: 'amd-rdna', // cards have 12 to 96 units, with 8 to 12 waves of such tiles a SIMD; Dawn names no architecture of most APUs and of RDNA 4
    vendors: ['amd', 'samsung'],
    isIntegrated: (summary) => summary.vendor === 'samsung' || isRadeonIntegrated(summary),
    traits: {},
  },
  {
    name: 'intel-xe2', // Arc B, Lunar Lake and later: registers of 16 lanes, 8 threads an engine; a B580 has 160 engines, each with threads for one tile
    vendors: ['intel'],
    is: ({ architecture, subgroupMinSize }) =>
      architecture === '' ? subgroupMinSize >= 16 : /^xe-[2-9]/.test(architecture),
    isIntegrated: isIntelIntegrated,
    traits: { ...PINNED, subgroupSize: 16 },
    unpinned: UNPINNED,
  },
  {
    name: 'intel-xe-hpg', // Arc A: registers of 8 lanes, 8 threads a unit; 128 to 512 units, each with threads for half a tile
    vendors: ['intel'],
    is: (summary) => !isIntelIntegrated(summary),
    isIntegrated: isIntelIntegrated,
    traits: { ...PINNED, subgroupSize: 8 },
    unpinned: UNPINNED,
  },
  {
    name: 'intel-xe-lp', // Tiger Lake to Arrow Lake, and before: registers of 8 lanes, 7 or 8 threads a unit; 24 to 128 units, each with threads for half a tile
    vendors: ['intel'],
    isIntegrated: always,
    traits: { ...PINNED, subgroupSize: 8, sharedTiles: 32 },
    unpinned: { ...UNPINNED, sharedTiles: 32 },
  },
  {
    name: 'apple-large', // Max and Ultra of M1 to M5: 24 to 80 cores; no compiler was at hand
    vendors: ['apple'],
    is: (summary) => /\b(Max|Ultra)\b/i.test(nameOf(summary)),
    isIntegrated: always,
    traits: { sharedTiles: 128 },
  },
  {
    name: 'apple', // the other M1 to M5, 7 to 20 cores, and browsers, which tell no names
    vendors: ['apple'],
    isIntegrated: always,
    traits: {},
  },
  {
    name: 'adreno', // 7xx: subgroups of 64 and 128; attention on codes spills 15 to 56 with the sums of other GPUs, and nothing else does
    vendors: ['qualcomm'],
    isIntegrated: always,
    traits: { codeSums: 16 },
  },
];
