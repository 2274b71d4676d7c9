// The heads by which Whisper's words get times: those that generation_config.json names, else all of the decoder's later half.

import { readConfig } from '../config-values.ts';
import type { Alignment, AlignmentHead, TranscriberFiles } from './transcriber.ts';

interface Decoder {
  layers: number;
  heads: number;
}

/**
 * `problem`: why words get no times; the text is transcribed all the same. Checkpoints with fewer layers than the one that they were distilled
 * from are published with its heads. Throws bad_checkpoint.
 */
export function readAlignment(
  { config: json, generation }: Pick<TranscriberFiles, 'config' | 'generation'>,
  { layers, heads }: Decoder,
): { alignment: Alignment; problem: null } | { alignment: null; problem: string } {
  const config = readConfig('config.json', json);
  const medianWidth = config.count('median_filter_width', 7);
  if (medianWidth % 2 === 0)
    throw config.error(
      'bad_checkpoint',
      'median_filter_width',
      `is ${medianWidth}, and must be odd: take the values that the model was published with`,
    );
  const chosen = chosenHeads(generation['alignment_heads'], { layers, heads });
  if (chosen !== null) return { alignment: { heads: chosen, medianWidth }, problem: null };
  const problem = `generation_config.json: alignment_heads is not a list of pairs of a layer below ${layers} and a head below ${heads}, so words get no times: name this model's heads in it, or leave the key out`;
  return { alignment: null, problem };
}

/** null: the list does not fit the decoder. */
function chosenHeads(stated: unknown, { layers, heads }: Decoder): AlignmentHead[] | null {
  if (stated == null) {
    const half = Math.floor(layers / 2);
    return Array.from({ length: (layers - half) * heads }, (_, i) => ({
      ...{ layer: half + Math.floor(i / heads), head: i % heads },
    }));
  }
  const isBelow = (value: unknown, end: number): value is number =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) < end;
  const found = (Array.isArray(stated) ? stated : []).map((pair: unknown) => {
    const [layer, head] = Array.isArray(pair) ? (pair as unknown[]) : [];
    return isBelow(layer, layers) && isBelow(head, heads) ? { layer, head } : null;
  });
  const chosen = found.filter((one) => one !== null);
  return chosen.length > 0 && chosen.length === found.length ? chosen : null;
}
