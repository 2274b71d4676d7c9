// svc serve: a model behind an HTTP address. The port answers from the start, with 503 until the model is ready.

import { existsSync } from 'node:fs';
import type { CommandDef } from 'citty';
import {
  type OpenEvent,
  shippedModelPath,
  type TextModel,
  type TextModelInfo,
  type TextModelOptions,
} from '../index.ts';
import { startServer, untilSignal } from '../server/lifecycle.ts';
import type { ServerOptions } from '../server/service.ts';
import type { Values } from './option.ts';
import { createCommand } from './command.ts';
import { EXIT } from './exit.ts';
import { BATCH_OPTIONS, ENGINE_OPTIONS, SERVER_OPTIONS, toModelOptions } from './options.ts';
import { showOpening } from './progress.ts';
import { createLog, sizeText } from './terminal.ts';

export type OpenTextModel = (
  options: TextModelOptions,
  onEvent?: (event: OpenEvent) => void,
) => Promise<TextModel>;

const OPTIONS = { ...SERVER_OPTIONS, ...ENGINE_OPTIONS, ...BATCH_OPTIONS };

type ServeOptions = Values<typeof OPTIONS>;

export function createServe(open: OpenTextModel): CommandDef {
  return createCommand({
    name: 'serve',
    summary: 'Serve a model over HTTP, for OpenAI-style clients.',
    options: OPTIONS,
    notes: 'Without --model-path it serves the small chat model that ships with the package.',
    run: ({ options }) => serve(open, options),
  });
}

async function serve(open: OpenTextModel, options: ServeOptions): Promise<number> {
  const log = createLog(options['log-level']);
  const modelPath = options['model-path'] ?? shippedModelPath();
  const server = await startServer(toServerOptions(options, modelPath), log);
  log.info(`Listening on ${server.url}, opening ${modelPath}`);
  const progress = showOpening(log);
  const signal = untilSignal();
  let model: TextModel | undefined;
  try {
    for (;;) {
      const opening = open(toModelOptions(modelPath, options), (event) => {
        server.progress(event);
        progress.event(event);
      });
      // Where a signal comes first, nobody waits for the model any more.
      opening.catch(() => {});
      const first = await Promise.race([opening, signal]);
      progress.end();
      if (typeof first === 'string') break;
      model = first;
      server.ready(model);
      for (const line of settingsInForce(model.info)) log.info(line);
      log.success(`Ready: ${server.url}/v1 serves ${server.names().join(', ')}`);
      const end = await Promise.race([model.ended, signal]);
      if (typeof end === 'string') break;
      log.error(`${end.message}. Opening ${modelPath} again.`);
      server.lost();
    }
    const received = await signal;
    log.info(`${received}: ${server.running()} requests may end; a second signal stops at once.`);
    return received === 'SIGINT' ? EXIT.interrupted : EXIT.ok;
  } finally {
    progress.end();
    await server.close();
    await model?.close();
  }
}

function toServerOptions(options: ServeOptions, modelPath: string): ServerOptions {
  const { host, port, strict = false } = options;
  // A folder's own name is its model's; an id keeps its owner.
  const names = options['served-model-name'] ?? (existsSync(modelPath) ? undefined : [modelPath]);
  return {
    host,
    port,
    strict,
    ...(options['api-key'] !== undefined && { apiKey: options['api-key'] }),
    ...(options['cors-origins'] && { corsOrigins: options['cors-origins'] }),
    ...(names && { servedModelNames: names }),
  };
}

/** What was chosen or found, so that nobody has to guess it from the answers. */
function settingsInForce(info: TextModelInfo): string[] {
  const { architecture, parameters, quantization, contextLength, modelContextLength, memory, adapter } = info;
  const millions = (parameters / 1e6).toFixed(parameters < 1e7 ? 1 : 0);
  const shortened = contextLength < modelContextLength ? ` (the model's own is ${modelContextLength})` : '';
  const { temperature, topP, topK, minP } = info.sampling;
  const { samplingSource: source } = info;
  const used = memory.weights + memory.kv + memory.arena;
  return [
    `Model: ${architecture}, ${millions} M parameters, weights ${quantization === 'none' ? 'as stored' : quantization}, context ${contextLength}${shortened}`,
    `Memory: ${sizeText(used)} of ${sizeText(memory.budget)}: ${sizeText(memory.weights)} weights, ${sizeText(memory.kv)} cache, ${sizeText(memory.arena)} scratch; on ${adapter.description || adapter.device}`,
    `Sampling: temperature ${temperature} (${source.temperature}), top_p ${topP} (${source.topP}), top_k ${topK} (${source.topK}), min_p ${minP} (${source.minP})`,
  ];
}
