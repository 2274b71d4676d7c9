// Values that configurations of several towers state alike.

import { shown, type ConfigReader } from '../config-values.ts';

/** A length, or two equal ones of height and width. */
export function readSquare(config: ConfigReader, key: 'image_size' | 'patch_size', fallback: number): number {
  const [height, width] = config.each(key, 2, fallback) as [number, number];
  if (height === width) return height;
  throw config.error('unsupported', key, `is ${shown([height, width])}, and only squares are built`);
}

/** Layers up to the one whose states are taken, of `all`: -1 means the last one, 0 the states before the first. */
export function readTowerLayers(
  config: ConfigReader,
  key: 'vision_feature_layer' | 'select_layer',
  { all, fallback }: { all: number; fallback: number },
): number {
  const stated = config.values[key] ?? fallback;
  const chosen: unknown = Array.isArray(stated) && stated.length === 1 ? stated[0] : stated;
  const layers = typeof chosen === 'number' && chosen < 0 ? all + 1 + chosen : chosen;
  if (typeof layers === 'number' && Number.isInteger(layers) && layers >= 0 && layers <= all) return layers;
  const code = Array.isArray(chosen) ? 'unsupported' : 'bad_checkpoint';
  throw config.error(code, key, `is ${shown(chosen)}, one layer of the tower's ${all} is needed`);
}
