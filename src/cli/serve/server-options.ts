// The command-line options of the HTTP server, among them the models to serve.

import { IMAGE_MODEL } from '../../options/image-model.ts';
import { RANKS } from '../../options/ranks.ts';
import { DEFAULTS, LIMITS } from '../../options/limits.ts';
import { ON_DEMAND_OPTIONS } from './on-demand-options.ts';
import { MEDIA_OPTIONS } from './media-options.ts';
import type { OptionTable } from '../options/option.ts';
import { optionsOf } from '../options/setting-options.ts';
import { LOG_LEVELS } from '../process/terminal.ts';

/** Settings of models that the server has options for, beside those that all commands have. */
export const SERVED_SETTINGS = {
  upscalingModelPath: IMAGE_MODEL.upscalingModelPath,
  cacheDitConfig: IMAGE_MODEL.cacheDitConfig,
  ...RANKS,
};
const { upscalingModelPath, cacheDitConfig, ...ranks } = SERVED_SETTINGS;
export const SERVED_OPTIONS = {
  ...optionsOf({ upscalingModelPath, cacheDitConfig }, 'Model'),
  ...optionsOf(ranks),
};

export const SERVER_OPTIONS = {
  'model-path': {
    kind: 'texts',
    elsewhere: ['model', 'm', 'hf-repo'],
    group: 'Model',
    value: 'folder|file|id',
    help: 'Folder or GGUF file of a language model, folder of a diffusers pipeline, image model in one .safetensors file, or an id on the hub, as owner/name, owner/name:Q4_K_M or owner/name:file.safetensors; repeat it to serve several.',
    otherwise: 'the models that ship',
  },
  ...ON_DEMAND_OPTIONS,
  ...SERVED_OPTIONS,
  'served-model-name': {
    kind: 'list',
    elsewhere: ['alias', 'a'],
    group: 'Server',
    help: 'Names the model answers to, beside "default"; of several models one each, in their order.',
    otherwise: 'their own',
  },
  host: {
    kind: 'string',
    default: '127.0.0.1',
    group: 'Server',
    value: 'address',
    help: 'Address to listen on.',
  },
  port: {
    kind: 'integer',
    default: 30000,
    min: 0,
    max: 65535,
    group: 'Server',
    help: 'Port; 0 takes a free one.',
  },
  uds: {
    kind: 'string',
    elsewhere: ['unix-socket'],
    group: 'Server',
    value: 'path',
    help: 'Unix socket (on Windows a named pipe) to listen on in place of host and port.',
    otherwise: 'none',
  },
  'ssl-certfile': {
    kind: 'string',
    elsewhere: ['ssl-cert-file', 'ssl-cert'],
    group: 'Server',
    value: 'file',
    help: 'Certificate with its chain in PEM, for HTTPS; with --ssl-keyfile.',
    otherwise: 'none: plain HTTP',
  },
  'ssl-keyfile': {
    kind: 'string',
    elsewhere: ['ssl-key-file', 'ssl-key'],
    group: 'Server',
    value: 'file',
    help: 'Private key of the certificate in PEM.',
    otherwise: 'none',
  },
  'ssl-keyfile-password': {
    kind: 'string',
    group: 'Server',
    value: 'password',
    help: 'Password of an encrypted private key.',
    otherwise: 'SVC_SSL_KEYFILE_PASSWORD, else none',
  },
  'api-key': {
    kind: 'string',
    group: 'Server',
    value: 'key',
    help: 'Asked for as a bearer token.',
    otherwise: 'SVC_API_KEY, else none',
  },
  'api-key-file': {
    kind: 'string',
    group: 'Server',
    value: 'file',
    help: 'Several keys: one on each line, or JSON as {"keys": [{"name": "ci", "key": "...", "models": ["..."], "requests_per_minute": 60, "tokens_per_minute": 20000, "max_running": 2, "admin": false, "expires": "2030-01-31"}]}, with sha256 in place of key if the file shall not hold it. Changes count at once.',
    otherwise: 'none',
  },
  'admin-api-key': {
    kind: 'string',
    group: 'Server',
    value: 'key',
    help: 'Asked for in place of --api-key by routes that change what is served; opens the others too.',
    otherwise: 'SVC_ADMIN_API_KEY, else as --api-key',
  },
  'cors-origins': {
    kind: 'list',
    group: 'Server',
    value: 'origin,...',
    help: 'Web pages that may call, beside those on this machine; null is pages of files (and any sandboxed frame), * is all.',
    otherwise: 'localhost, app://, tauri://, vscode-webview://',
  },
  'no-web': {
    kind: 'boolean',
    group: 'Server',
    help: 'Show no web page at /: browsers are sent to the API page at /docs.',
    otherwise: 'off',
  },
  'mcp-origins': {
    kind: 'list',
    group: 'Server',
    value: 'origin,...',
    help: 'MCP servers (streamable HTTP) that the web page may call, beside those on this machine, each as https://example.org.',
    otherwise: 'none',
  },
  strict: {
    kind: 'boolean',
    group: 'Server',
    help: 'Refuse fields nobody knows instead of listing them in x-svc-ignored.',
    otherwise: 'off',
  },
  'output-path': {
    kind: 'string',
    group: 'Server',
    value: 'folder',
    help: 'Folder that keeps drawn videos, and what is known of them, so that a later server has them.',
    otherwise: 'none: in memory, for an hour',
  },
  'receive-timeout': {
    kind: 'number',
    default: DEFAULTS.receiveTime / 1000,
    above: 0,
    max: Math.floor(LIMITS.timeout / 1000),
    group: 'Server',
    value: 'seconds',
    help: 'How long the headers of a request may take to arrive, and its body, which has one second more for each 16 KiB that have come; then it gets 408.',
  },
  'drain-delay': {
    kind: 'number',
    default: 0,
    min: 0,
    max: Math.floor(LIMITS.timeout / 1000),
    group: 'Server',
    value: 'seconds',
    help: 'How long the server still takes requests after SIGTERM or SIGINT, while /health and /readyz already answer 503, so that a router stops sending first.',
  },
  'drain-timeout': {
    kind: 'number',
    default: DEFAULTS.drainTime / 1000,
    min: 0,
    max: Math.floor(LIMITS.timeout / 1000),
    group: 'Server',
    value: 'seconds',
    help: 'How long running requests get to end after that, while new ones get 503; then they are aborted.',
  },
  'log-level': {
    kind: 'choice',
    choices: LOG_LEVELS,
    default: 'info',
    group: 'Server',
    help: 'What the log shows.',
  },
  ...MEDIA_OPTIONS,
} as const satisfies OptionTable;
