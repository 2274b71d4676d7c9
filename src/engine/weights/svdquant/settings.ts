// What a quantization with a low-rank part is made with.

/** Types of the codes; nvfp4: floats of E2M1 with scales of E4M3 for 16 inputs. */
export const PRECISIONS = ['int4', 'nvfp4'] as const;

export interface SvdquantSettings {
  precision: (typeof PRECISIONS)[number];
  /** Columns of the factors. */
  rank: number;
  /** Inputs that share a scale; of nvfp4 16. */
  groupKs: number;
  /** How far columns of weights are brought to one magnitude before they are rounded: 0, not at all, to 1. */
  smoothing: number;
}

export const GROUPS: readonly number[] = [32, 64, 128];

/** Defaults, which are nunchaku's but for smoothing, whose share there follows from activations. */
export const USUAL: SvdquantSettings = { precision: 'int4', rank: 32, groupKs: 64, smoothing: 0 };

/** Names the settings in file names of a cache. */
export const nameOfSettings = ({ precision, rank, groupKs, smoothing }: SvdquantSettings): string =>
  `svdq-${precision}_r${rank}_g${groupKs}_s${smoothing}`;
