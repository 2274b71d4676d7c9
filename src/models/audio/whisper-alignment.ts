// The heads by which Whisper's words get times: those that generation_config.json names, else all of the decoder's later half.

import { readConfig } from '../config-values.ts';
import type { Alignment, TranscriberFiles } from './transcriber.ts';

interface Decoder {
  layers: number;
  heads: number;
}

/** Throws bad_checkpoint. */
export function readAlignment(
  { config: json, generation }: Pick<TranscriberFiles, 'config' | 'generation'>,
  { layers, heads }: Decoder,
): Alignment {
  const config = readConfig('config.json', json);
  const medianWidth = config.count('median_filter_width', 7);
  if (medianWidth % 2 === 0)
    throw config.error(
      'bad_checkpoint',
      'median_filter_width',
      `is ${medianWidth}, and must be odd: take the values that the model was published with`,
    );
  const stated = generation['alignment_heads'];
  if (stated == null) {
    const half = Math.floor(layers / 2);
    const all = Array.from({ length: (layers - half) * heads }, (_, i) => ({
      ...{ layer: half + Math.floor(i / heads), head: i % heads },
    }));
    return { heads: all, medianWidth };
  }
  const isBelow = (value: unknown, end: number): value is number =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) < end;
  const found = (Array.isArray(stated) ? stated : []).map((pair: unknown) => {
    const [layer, head] = Array.isArray(pair) ? (pair as unknown[]) : [];
    return isBelow(layer, layers) && isBelow(head, heads) ? { layer, head } : null;
  });
  const chosen = found.filter((one) => one !== null);
  if (chosen.length > 0 && chosen.length === found.length) return { heads: chosen, medianWidth };
  throw readConfig('generation_config.json', generation).error(
    'bad_checkpoint',
    'alignment_heads',
    `is not a list of pairs of a layer below ${layers} and a head below ${heads}: take the file from where the model was published`,
  );
}
