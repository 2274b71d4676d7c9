// Files of TAEHV, the small autoencoders of videos (taew2_1, taew2_2, taeltx …), whose modules are numbered through. source: madebyollin/taehv

import { unsupported } from '../../../files/error.ts';
import type { FileHeaders, PartConfig, PartLayout } from '../../../files/pipeline/file-layout.ts';
import { equalRows } from '../../../files/pipeline/renamed-tensors.ts';
import { AUTOENCODER_PREFIXES } from './part-layouts.ts';
import { Shapes } from './shapes.ts';

const IMAGE_CHANNELS = 3;

/** Places in the decoder's sequence: blocks of each level, the maps that make its frames, and the convolutions behind them. */
const LEVELS = [
  { block: 3, frames: 7, conv: 8 },
  { block: 9, frames: 13, conv: 14 },
  { block: 15, frames: 19, conv: 20 },
] as const;
const OUT = 'decoder.22.weight';
const FRAMES = new RegExp(
  `^(decoder\\.(?:${LEVELS.map(({ frames }) => frames).join('|')}))\\.conv\\.weight$`,
);

/** A map that makes several frames of one has their channels one after the other. */
const names = (): ReturnType<PartLayout['names']> => (name, shape) => {
  const [rows = 0, columns = 0] = shape;
  const [, place] = FRAMES.exec(name) ?? [];
  if (place === undefined) return name;
  const count = rows === 2 * columns ? 2 : 1;
  return equalRows(
    Array.from({ length: count }, (_, i) => `${place}.frames.${i}.weight`),
    shape,
  );
};

function configure(headers: FileHeaders): PartConfig {
  const { extent } = new Shapes(headers, 'autoencoder');
  return {
    className: 'TAEHV',
    config: {
      latent_channels: extent('decoder.1.weight', 1),
      patch_size: Math.floor(Math.sqrt(extent(OUT, 0) / IMAGE_CHANNELS)),
      decoder_block_out_channels: [
        extent('decoder.1.weight', 0),
        ...LEVELS.map(({ conv }) => extent(`decoder.${conv}.weight`, 0)),
      ],
      decoder_time_upscale: LEVELS.map(({ frames }) => headers.has(`decoder.${frames}.frames.1.weight`)),
    },
  };
}

function refuse(): never {
  throw unsupported(
    'it is a "super" TAEHV, whose blocks this version does not have: choose the file of the same name without _super',
    'decoder.1.conv.0.weight',
  );
}

export const TAEHV_LAYOUTS: readonly PartLayout[] = [
  {
    prefixes: AUTOENCODER_PREFIXES,
    signs: ['decoder.1.weight', ...LEVELS.map(({ block }) => `decoder.${block}.conv.0.weight`), OUT],
    names,
    configure,
  },
  {
    prefixes: AUTOENCODER_PREFIXES,
    signs: ['decoder.0.weight', 'decoder.1.conv.0.weight', 'decoder.1.conv.3.weight'],
    names: () => (name) => name,
    configure: refuse,
  },
];
