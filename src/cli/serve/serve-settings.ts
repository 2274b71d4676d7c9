// The settings and memory of a served model, as lines of the log.

import type { EmbeddingModelInfo, ImageModelInfo, TextModelInfo } from '../../index.ts';
import { fieldName } from '../../options/setting.ts';
import { mapSampling } from '../../options/text-request.ts';
import type { ServableModel } from '../../server/entry.ts';
import { countText } from '../../files/count-text.ts';
import { sizeText } from '../process/terminal.ts';

/** Returns the settings that were chosen or determined for a model. */
export function settingsInForce({ info }: ServableModel): string[] {
  if ('pipeline' in info) return imageSettings(info);
  return 'pooling' in info ? embeddingSettings(info) : textSettings(info);
}

function textSettings(info: TextModelInfo): string[] {
  const { architecture, contextLength, modelContextLength, memory, adapter } = info;
  const shortened = contextLength < modelContextLength ? ` (the model's own is ${modelContextLength})` : '';
  const sampling = mapSampling(
    (name, setting) =>
      `${fieldName(name, setting, 'chat')} ${info.sampling[name]} (${info.samplingSource[name]})`,
  );
  const used = memory.weights + memory.kv + memory.arena;
  return [
    `Model: ${architecture}, ${millions(info)} M parameters, weights ${formats(info)}, context ${contextLength}${shortened}`,
    `Memory: ${sizeText(used)} of ${sizeText(memory.budget)}: ${sizeText(memory.weights)} weights, ${sizeText(memory.kv)} cache, ${sizeText(memory.arena)} scratch; on ${adapter.description || adapter.device}`,
    `Sampling: ${Object.values(sampling).join(', ')}`,
  ];
}

function imageSettings(info: ImageModelInfo): string[] {
  const { pipeline, quantization, defaults, memory, adapter } = info;
  const { width, height, steps, guidance } = defaults;
  return [
    `Model: ${pipeline}, ${millions(info)} M parameters, weights ${weights(quantization)}, ${width} × ${height} in ${countText(steps, 'step')} at guidance ${guidance}`,
    `Memory: a budget of ${sizeText(memory.budget)} for ${sizeText(memory.weights)} of stored weights; on ${adapter.description || adapter.device}`,
  ];
}

function embeddingSettings(info: EmbeddingModelInfo): string[] {
  const { architecture, contextLength, dimensions, pooling, memory, adapter } = info;
  return [
    `Model: ${architecture}, ${millions(info)} M parameters, weights ${formats(info)}, ${dimensions} dimensions (${pooling} pooling), texts up to ${contextLength} tokens`,
    `Memory: ${sizeText(memory.weights + memory.kv)} of ${sizeText(memory.budget)}; on ${adapter.description || adapter.device}`,
  ];
}

const millions = ({ parameters }: { parameters: number }): string =>
  (parameters / 1e6).toFixed(parameters < 1e7 ? 1 : 0);
const weights = (quantization: string): string => (quantization === 'none' ? 'as stored' : quantization);

const formats = ({ quantization, weightFormats }: TextModelInfo | EmbeddingModelInfo): string =>
  quantization === 'none' ? `as stored (${weightFormats.join(', ')})` : quantization;
