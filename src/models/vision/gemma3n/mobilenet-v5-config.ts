// Reads the blocks of MobileNet V5 as timm describes them: those of an architecture by its name, and others by `model_args`. Only this file knows the key
// names.

import { isJsonObject, shown, type ConfigReader } from '../../config-values.ts';

/** A convolution to wider pixels, and a product back. */
export interface EdgeBlock {
  kind: 'edge';
  columns: number;
  stride: 1 | 2;
  /** Columns of a pixel between the two. */
  inner: number;
}

/** Products to wider pixels and back, with convolutions of each channel before and between them. */
export interface InvertedBlock {
  kind: 'inverted';
  columns: number;
  stride: 1 | 2;
  inner: number;
  /** Pixels along a side of the kernels; 0: there is no such convolution. */
  kernels: { before: number; between: number };
}

/** Attention whose heads share keys and values. */
export interface AttentionBlock {
  kind: 'attention';
  columns: number;
  stride: 1;
  heads: number;
  dims: number;
  /** Pixels along a side of the kernels that halve an image for keys and values; null: all pixels have them. */
  halved: number | null;
}

export type MobileNetBlock = EdgeBlock | InvertedBlock | AttentionBlock;

export interface MobileNetV5Config {
  /** Columns of a pixel behind the first convolution. */
  stem: number;
  stages: readonly (readonly MobileNetBlock[])[];
  /** Pixels along a side of the result, and their columns. */
  across: number;
  columns: number;
}

/** Columns of the result, which timm's encoder has whatever its arguments are. */
const COLUMNS = 2048;
const PUBLISHED = 'mobilenetv5_300m_enc';
/** Arguments that are read, and what others have to be. */
const ARGUMENTS = {
  in_chans: [3],
  pad_type: ['same'],
  stem_bias: [true],
  msfa_indices: [[-2, -1]],
  num_classes: [0],
};

/** Settings of blocks, likewise. */
const SETTINGS = {
  act_layer: [null],
  se_ratio: [0],
  noskip: [false],
  force_in_chs: [0],
  exp_kernel_size: [3],
  pw_kernel_size: [1],
  dw_kernel_size: [3, 5, 7],
  dw_kernel_size_start: [0, 3, 5, 7],
  dw_kernel_size_mid: [0, 3, 5, 7],
  dw_kernel_size_end: [0],
};
const BLOCK_KEYS = [
  ...['block_type', 'out_chs', 'stride', 'exp_ratio'],
  ...['num_heads', 'key_dim', 'value_dim', 'kv_stride'],
];

/** `config`: vision_config. Throws unsupported for other architectures, and for arguments that are not built. */
export function readMobileNetV5(config: ConfigReader): MobileNetV5Config {
  config.only({ architecture: [PUBLISHED], do_pooling: [false], hidden_size: [COLUMNS] });
  const args = config.part('model_args');
  args.only(ARGUMENTS);
  const known = [...Object.keys(ARGUMENTS), 'block_args', 'stem_size', 'msfa_output_resolution'];
  const unknown = Object.keys(args.values).find((key) => !known.includes(key));
  if (unknown !== undefined)
    throw args.error('unsupported', unknown, 'is not built; choose a checkpoint without it');
  const stem = args.count('stem_size', 64);
  const stated = args.values['block_args'];
  return {
    stem,
    stages: stated === undefined ? publishedStages(stem) : readStages(args, stated, stem),
    across: args.count('msfa_output_resolution', 16),
    columns: COLUMNS,
  };
}

const edge = (columns: number, from: number, stride: 1 | 2): EdgeBlock => ({
  kind: 'edge',
  ...{ columns, stride, inner: 4 * from },
});
const inverted = (
  columns: number,
  inner: number,
  stride: 1 | 2,
  before: number,
  between: number,
): InvertedBlock => ({ kind: 'inverted', columns, inner, stride, kernels: { before, between } });
const attention = (columns: number, heads: number, dims: number, halved: number | null): AttentionBlock => ({
  kind: 'attention',
  ...{ columns, stride: 1, heads, dims, halved },
});
const times = (count: number, blocks: readonly MobileNetBlock[]): MobileNetBlock[] =>
  Array.from({ length: count }, () => blocks).flat();

/** Of mobilenetv5_300m_enc. */
const publishedStages = (stem: number): MobileNetBlock[][] => [
  [edge(128, stem, 2), edge(128, 128, 1), edge(128, 128, 1)],
  [
    inverted(256, 6 * 128, 2, 3, 5),
    ...times(2, [inverted(256, 4 * 256, 1, 5, 0), inverted(256, 4 * 256, 1, 3, 0)]),
  ],
  [
    inverted(640, 6 * 256, 2, 5, 5),
    ...times(7, [inverted(640, 4 * 640, 1, 5, 0)]),
    inverted(640, 640, 1, 0, 0),
    ...times(14, [attention(640, 12, 64, 3), inverted(640, 2 * 640, 1, 0, 0)]),
  ],
  [
    inverted(1280, 6 * 640, 2, 5, 5),
    ...times(19, [attention(1280, 16, 96, null), inverted(1280, 2 * 1280, 1, 0, 0)]),
  ],
];

/** block_args: for each stage a list of its blocks. */
function readStages(args: ConfigReader, stated: unknown, stem: number): MobileNetBlock[][] {
  const stages: unknown[] = Array.isArray(stated) ? stated : [];
  if (stages.length < 2 || !stages.every((stage) => Array.isArray(stage) && stage.every(isJsonObject)))
    throw args.error(
      'bad_checkpoint',
      'block_args',
      `is ${shown(stated)}, at least two lists of blocks are needed`,
    );
  let from = stem;
  return stages.map((stage) =>
    stage.map((values, i) => {
      const block = readBlock(args.within('block_args', values), from);
      // What a stage gives is read twice, so the next one must not change it in place.
      if ((block.stride === 2) !== (i === 0))
        throw args.error(
          'unsupported',
          'block_args',
          'has other strides than those that are built; choose a checkpoint whose stages begin with 2 and go on with 1',
        );
      from = block.columns;
      return block;
    }),
  );
}

function readBlock(config: ConfigReader, from: number): MobileNetBlock {
  config.only(SETTINGS);
  const unknown = Object.keys(config.values).find((key) => !(key in SETTINGS) && !BLOCK_KEYS.includes(key));
  if (unknown !== undefined)
    throw config.error('unsupported', unknown, 'is not built; choose a checkpoint without it');
  const columns = config.count('out_chs');
  const stride = config.count('stride', 1) as 1 | 2;
  const inner = (): number => divisible(from * config.real('exp_ratio', 1));
  const type = config.choice('block_type', { er: 'edge', uir: 'inverted', mqa: 'attention' }, '');
  if (type === 'edge') return { kind: 'edge', columns, stride, inner: inner() };
  if (type === 'inverted') {
    const [before, between] = [
      config.count('dw_kernel_size_start', 0),
      config.count('dw_kernel_size_mid', 3),
    ];
    if (stride === 2 && before + between === 0)
      throw config.error('bad_checkpoint', 'stride', 'is 2 in a block without convolutions');
    return { kind: 'inverted', columns, stride, inner: inner(), kernels: { before, between } };
  }
  const dims = config.count('key_dim', 64);
  config.only({ stride: [1], value_dim: [dims], out_chs: [from], kv_stride: [1, 2] });
  const halved = config.count('kv_stride', 1) === 2 ? config.count('dw_kernel_size', 3) : null;
  return { kind: 'attention', columns, stride: 1, heads: config.count('num_heads', 8), dims, halved };
}

/** The nearest multiple of 8, which is not below nine tenths. */
function divisible(columns: number): number {
  const nearest = Math.max(8, Math.floor((columns + 4) / 8) * 8);
  return nearest < 0.9 * columns ? nearest + 8 : nearest;
}
