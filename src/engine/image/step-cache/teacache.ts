// How far the output of published models moves with the input of their first block: coefficients of polynomials, the highest power first.
// sources: the TeaCache repository, SGLang's sampling parameters, ComfyUI-TeaCache

import type { Range } from './decisions.ts';

export interface TeaCacheDefaults extends Range {
  threshold: number;
  coefficients: readonly number[];
}

/** Steps at the ends that are always computed, where a model's authors state none. */
const ENDS: Range = { first: 1, last: 1 };
/** Those of SGLang. */
const LATER: Range = { first: 4, last: 1 };

const HUNYUAN = [733.226126, -401.131952, 67.5869174, -3.149878, 0.0961237896];

export const TEACACHE = {
  flux: {
    ...ENDS,
    threshold: 0.25,
    coefficients: [498.651651, -283.781631, 55.8554382, -3.82021401, 0.264230861],
  },
  fluxKontext: {
    ...ENDS,
    threshold: 0.25,
    coefficients: [-1046.55119, 312.563399, -16.9500694, 0.410995971, 0.0374537863],
  },
  ltx: {
    ...ENDS,
    threshold: 0.06,
    coefficients: [21.4700694, -12.8016453, 2.31279151, 0.792487521, 0.00969274326],
  },
  lumina2: {
    ...ENDS,
    threshold: 0.3,
    coefficients: [-874.643948, 466.059906, -75.1559762, 5.32836175, -0.0327258296],
  },
  zImage: { ...LATER, threshold: 0.15, coefficients: HUNYUAN },
  wanSmall: {
    ...LATER,
    threshold: 0.08,
    coefficients: [-52186.2437, 9230.41404, -528.275948, 13.6987616, -0.0499875664],
  },
  wanLarge: {
    ...LATER,
    threshold: 0.2,
    coefficients: [-303318.725, 49053.7029, -2655.30556, 58.7365115, -0.315583525],
  },
  wanImageSmall: {
    ...LATER,
    threshold: 0.26,
    coefficients: [257151.496, -35422.9917, 1402.86849, -13.5890334, 0.132517977],
  },
  wanImageLarge: {
    ...LATER,
    threshold: 0.3,
    coefficients: [8107.0546, 2133.93892, -372.934672, 16.6203073, -0.0417769401],
  },
} as const satisfies Readonly<Record<string, TeaCacheDefaults>>;
