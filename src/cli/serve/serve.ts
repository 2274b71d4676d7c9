// svc serve: serves models at one HTTP address. The port answers from the start, with 503 until the models are ready.

import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandDef } from 'citty';
import {
  endBy,
  type ServableModel,
  type ServedCatalog,
  type ServerOptions,
  startServer,
  untilSignal,
} from '../../server/entry.ts';
import { type AnyKind, MODEL_KINDS, resolveModel } from '../../index.ts';
import { LOADING, SHARING } from '../../options/model.ts';
import { flagName, type ModelKind, type Setting } from '../../options/setting.ts';
import type { Arguments } from '../options/arguments.ts';
import { createCommand } from '../options/command.ts';
import { EXIT, UsageError } from '../process/exit.ts';
import type { Values } from '../options/option.ts';
import { BATCH_OPTIONS, ENGINE_OPTIONS } from '../options/engine-options.ts';
import { toMediaRules } from './media-options.ts';
import { toTls } from './tls-files.ts';
import { serveOnDemand } from './on-demand.ts';
import { checkOnDemand, unknownPins } from './on-demand-options.ts';
import { SERVER_OPTIONS } from './server-options.ts';
import { packageVersion } from '../process/package.ts';
import { showOpening } from '../process/progress.ts';
import {
  checkJudge,
  checkModelOptions,
  keepModels,
  openedKind,
  spareSetting,
  type Openers,
} from './serve-models.ts';
import { type PlannedModel, planModels } from './serve-plan.ts';
import { countText } from '../../files/count-text.ts';
import { createLog } from '../process/terminal.ts';

export type { OpenTextModel } from './serve-models.ts';

const OPTIONS = { ...SERVER_OPTIONS, ...ENGINE_OPTIONS, ...BATCH_OPTIONS };

type ServeOptions = Values<typeof OPTIONS>;

export function createServe(open: Openers): CommandDef {
  return createCommand({
    name: 'serve',
    summary: 'Serve models over HTTP, for OpenAI-style clients.',
    positionals: [{ name: 'model', help: 'the same as --model-path', required: false }],
    options: OPTIONS,
    notes:
      'Language models answer /v1/chat/completions, embedding models (modules.json, or BERT) /v1/embeddings, diffusion pipelines\n(model_index.json) /v1/images, and /v1/videos where they draw clips.\n' +
      'Without --model-path and --models-dir it serves the small models that ship with the package.',
    run: (given) => serve(open, given),
  });
}

async function serve(open: Openers, given: Arguments<typeof OPTIONS>): Promise<number> {
  const { options } = given;
  const log = createLog(options['log-level']);
  const isOnDemand = options['models-dir'] !== undefined;
  const models = await checkedModels(given, isOnDemand);
  const signal = untilSignal();
  const server = await startServer(toServerOptions(options), log);
  const opens = models.length === 0 ? '' : `, opening ${models.map(({ path }) => path).join(', ')}`;
  log.info(`Listening on ${server.url}${opens}`);
  const progress = showOpening(log);
  const leaving = new AbortController();
  const opened = new Set<ServableModel>();
  let catalog: ServedCatalog | null = null;
  try {
    const kept = keepModels(models, {
      server,
      open,
      options,
      leaving: leaving.signal,
      onEvent: progress.event,
      onReady(served, model) {
        progress.end();
        opened.add(model);
        void model.ended.then(() => opened.delete(model));
        for (const line of summaryOf(model)) log.info(line);
        log.success(`Ready: ${server.url}/v1 serves ${served.names().join(', ')}`);
      },
      onTrouble(message) {
        progress.end();
        log.error(message);
      },
    });
    // After a signal nothing else handles this promise, and its rejection must not end the process.
    kept.catch(() => {});
    // After those that stay, which come first where a request names no model.
    if (isOnDemand) catalog = await serveOnDemand(server, open, options);
    if (catalog) {
      log.success(readyText(server, catalog));
      const absent = unknownPins(options, catalog.names());
      if (absent.length > 0) log.warn(`--models-pinned names what is not there: ${absent.join(', ')}`);
    }
    const received = await Promise.race([kept, signal]);
    progress.end();
    log.info(`${received}: ${lastWords(server.running(), options)}`);
    return received === 'SIGINT' ? EXIT.interrupted : EXIT.ok;
  } finally {
    leaving.abort();
    progress.end();
    await server.close();
    await closeModels(catalog ? [catalog, ...opened] : [...opened], log);
  }
}

/** The models that are opened at once, after a check of all options. */
async function checkedModels(
  { options, typed, positionals }: Arguments<typeof OPTIONS>,
  isOnDemand: boolean,
): Promise<PlannedModel[]> {
  const paths = [...positionals, ...(options['model-path'] ?? [])];
  // Without a model the ones that ship are served, unless others are opened on demand.
  const models = isOnDemand && paths.length === 0 ? [] : planModels(paths, options['served-model-name']);
  checkOnDemand(options, typed, models.length);
  checkJudge(models, options);
  if (!isOnDemand) checkOptions(models, typed, options);
  checkOrigins(options['cors-origins']);
  checkMcpOrigins(options['mcp-origins']);
  checkModelOptions(models, options);
  checkLoraFolders(options);
  await checkNames(models);
  return models;
}

/** Closes models, and ends the process where a step of one goes on for too long. */
async function closeModels(
  models: readonly { close(): Promise<void> }[],
  log: ReturnType<typeof createLog>,
): Promise<void> {
  const closed = Promise.all(models.map((model) => model.close())).then(() => true);
  if (await Promise.race([closed, sleep(CLOSE_TIME, false, { ref: false })])) return;
  log.warn('A step of a model still runs: it is left where it is.');
  endBy('SIGTERM');
}

function readyText({ url }: { url: string }, catalog: ServedCatalog): string {
  const names = catalog.names();
  const listed = names.length === 0 ? 'no model yet' : names.join(', ');
  return `Ready: ${url}/v1 opens on demand ${listed}`;
}

function summaryOf({ info }: ServableModel): string[] {
  const kinds = Object.values<AnyKind>(MODEL_KINDS);
  return kinds.find(({ name }) => name === info.kind)?.summary(info) ?? [];
}

/** Milliseconds that models get to release their devices after the last request. */
const CLOSE_TIME = 10_000;

function lastWords(
  running: number,
  { 'drain-delay': delay, 'drain-timeout': timeout }: Pick<ServeOptions, 'drain-delay' | 'drain-timeout'>,
): string {
  if (running === 0 && delay === 0) return 'nothing runs; leaving.';
  const what = delay === 0 ? countText(running, 'request') : 'what runs';
  const first = delay === 0 ? '' : `taking requests for ${delay} s more, then `;
  return `${first}waiting up to ${timeout} s for ${what}; a second signal stops at once.`;
}

/** Throws UsageError for a folder of LoRAs that is not there. */
function checkLoraFolders({
  'lora-dir': folder,
  'lora-paths': named = [],
}: Pick<ServeOptions, 'lora-dir' | 'lora-paths'>): void {
  const isFolder = (path: string): boolean =>
    statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (folder !== undefined && !isFolder(folder))
    throw new UsageError(
      `--lora-dir ${folder} is not a folder that is there: give one with LoRAs in it, each in a folder of its own`,
    );
  const absent = named.find((one) => !isFolder(one.slice(one.indexOf('=') + 1)));
  if (absent !== undefined)
    throw new UsageError(`--lora-paths ${absent} is not the folder of a LoRA that is there: check the path`);
}

/** Throws model_not_found for names of models that are neither there nor written as ids of the hub are. */
async function checkNames(models: readonly PlannedModel[]): Promise<void> {
  for (const { path } of models) if (!/^[^/\\]+\/[^/\\]+$/.test(path)) await resolveModel(path);
}

function checkOptions(
  models: readonly PlannedModel[],
  typed: ReadonlySet<string>,
  options: ServeOptions,
): void {
  const kinds = models.map((model) => openedKind(model, options).name);
  const idle = Object.entries<Setting>({ ...LOADING, ...SHARING }).find(
    ([name, setting]) =>
      // The server applies this option to image models itself.
      name !== ('maxQueuedRequests' satisfies keyof typeof SHARING) &&
      typed.has(flagName(name, setting)) &&
      !kinds.some((kind) => setting.models?.includes(kind as ModelKind)),
  );
  if (idle) {
    throw new UsageError(
      `--${flagName(...idle)} is for language models, and there is none among these: leave it out`,
    );
  }
  const spare = models.some(({ kind }) => kind === null)
    ? null
    : spareSetting(kinds, (name) => typed.has(name));
  if (spare !== null) throw new UsageError(`${spare}: leave it out`);
  if (typed.has('revision') && models.length > 1) {
    throw new UsageError(
      `--revision is for one model, and these are ${models.length}: serve them apart, or leave it out`,
    );
  }
}

const ORIGIN = /^(\*|null|[a-z][a-z\d+.-]*:\/\/[^/\s]+)$/i;

function checkOrigins(origins: readonly string[] = []): void {
  const wrong = origins.find((origin) => !ORIGIN.test(origin));
  if (wrong === undefined) return;
  throw new UsageError(
    `--cors-origins ${wrong} is not an origin: give scheme and host without a path, as https://example.org, or *`,
  );
}

/** Origins that become part of a content security policy. */
function checkMcpOrigins(origins: readonly string[] = []): void {
  const wrong = origins.find((origin) => !/^https?:\/\/[^/\s;,'"]+$/i.test(origin));
  if (wrong === undefined) return;
  throw new UsageError(
    `--mcp-origins ${wrong} is not an origin: give scheme and host without a path, as https://example.org`,
  );
}

function toServerOptions(options: ServeOptions): ServerOptions {
  const { host, port, strict = false } = options;
  const apiKey = options['api-key'] ?? (process.env['SVC_API_KEY'] || undefined);
  const adminApiKey = options['admin-api-key'] ?? (process.env['SVC_ADMIN_API_KEY'] || undefined);
  return {
    host,
    port,
    strict,
    web: options['no-web'] !== true,
    ...(options['mcp-origins'] && { mcpOrigins: options['mcp-origins'] }),
    maxQueuedImages: options['max-queued-requests'],
    receiveTime: Math.ceil(1000 * options['receive-timeout']),
    drainDelay: Math.ceil(1000 * options['drain-delay']),
    drainTime: Math.ceil(1000 * options['drain-timeout']),
    media: toMediaRules(options),
    version: packageVersion(),
    ...(options['output-path'] !== undefined && { outputPath: options['output-path'] }),
    ...(options.uds !== undefined && { unixSocket: options.uds }),
    ...(options['api-key-file'] !== undefined && { apiKeyFile: options['api-key-file'] }),
    ...toTls(options),
    ...(apiKey !== undefined && { apiKey }),
    ...(adminApiKey !== undefined && { adminApiKey }),
    ...(options['cors-origins'] && { corsOrigins: options['cors-origins'] }),
  };
}
