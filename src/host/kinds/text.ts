// Language models: text in, text out.

import { bytesText } from '../../files/bytes-text.ts';
import { fieldName } from '../../options/setting.ts';
import { mapSampling } from '../../options/text-request.ts';
import { mergeEvents } from '../../engine/text/run/merge-events.ts';
import type { TextModel, TextModelOptions } from '../../engine/text/calls/text-model.ts';
import { checkTextModelOptions } from '../../engine/text/request/text-rules.ts';
import type { ModelKind } from './model-kind.ts';
import { TextRepeat } from './repeat.ts';
import { formatsText, parametersText } from './summary-words.ts';
import { TEXT_REPLICAS } from './text-replicas.ts';
import { textSleep } from './text-sleep.ts';

export const TEXT: ModelKind<TextModelOptions, TextModel> = {
  name: 'text',
  article: 'a',
  noun: 'chat model',
  endpoint: 'POST /v1/chat/completions',
  opener: 'openTextModel',
  module: import.meta.url,
  calls: {
    renderPrompt: {},
    tokenize: {},
    detokenize: {},
    metrics: { passive: true },
    abort: { passive: true },
    flushCache: { passive: true },
    loadedLoras: { passive: true },
    loadLora: { changes: true, files: true },
    unloadLora: { changes: true },
  },
  merge: mergeEvents,
  check: checkTextModelOptions,
  sleep: textSleep,
  replicas: TEXT_REPLICAS,
  repeat: (request) => new TextRepeat(request),
  engine: async () => (await import('../../engine/text/open.ts')).openText,
  paper: async () => (await import('../../engine/text/plan-text.ts')).openTextOnPaper,
  summary(info) {
    const { architecture, contextLength, modelContextLength, memory, kvCacheDtype, adapter, replicas } = info;
    const place = replicas === undefined ? 'on' : `on ${replicas} replicas, the first of them on`;
    const shortened = contextLength < modelContextLength ? ` (the model's own is ${modelContextLength})` : '';
    const sampling = mapSampling((name, setting) => {
      const source = info.samplingSource[name];
      return `${fieldName(name, setting, 'chat')} ${info.sampling[name]} (${source === 'contract' ? 'default' : source})`;
    });
    const used = memory.weights + memory.kv + memory.arena;
    return [
      `Model: ${architecture}, ${parametersText(info)}, weights ${formatsText(info)}, context ${contextLength}${shortened}`,
      `Memory: ${bytesText(used)} of ${bytesText(memory.budget)}: ${bytesText(memory.weights)} weights, ${bytesText(memory.kv)} cache in ${kvCacheDtype}, ${bytesText(memory.arena)} scratch; ${place} ${adapter.description || adapter.device}`,
      `Sampling: ${Object.values(sampling).join(', ')}`,
    ];
  },
};
