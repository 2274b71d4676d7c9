// Environment variables of hubs: the choice of the hub, its cache folder, the token. The names are those of the Python clients.
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { endpointOf, HUGGING_FACE, huggingFace } from './hub-huggingface.ts';
import type { DiskHub } from './hub-disk.ts';
import { modelHub } from './modelhub.ts';

export type Env = Record<string, string | undefined>;

/** Returns the hub that the environment selects; SVC_USE_MODELHUB=1 selects the second one. */
export async function openHub(env: Env): Promise<DiskHub> {
  const cacheHome = env['XDG_CACHE_HOME'] || '~/.cache';
  const offline = ['HF_HUB_OFFLINE', 'TRANSFORMERS_OFFLINE'].find((name) => isTrue(env[name])) ?? null;
  const symlinks = !isTrue(env['HF_HUB_DISABLE_SYMLINKS']);
  if (isTrue(env['SVC_USE_MODELHUB'])) {
    const hub = modelHub({
      offline,
      unreachableRemedy: remedyIn(env, 'MODELSCOPE_ENDPOINT'),
      endpoint: endpointOf('MODELSCOPE_ENDPOINT', env['MODELSCOPE_ENDPOINT'], 'https://www.modelscope.cn'),
      token: env['MODELSCOPE_API_TOKEN']?.trim() || null,
    });
    // A folder of its own, because the hub's own client uses a different layout in the parent folder.
    const cache = join(expand(env, env['MODELSCOPE_CACHE'] || join(cacheHome, 'modelscope')), 'svc-engine');
    return { ...hub, cache, cacheVariable: 'MODELSCOPE_CACHE', symlinks };
  }
  const home = expand(env, env['HF_HOME'] || join(cacheHome, 'huggingface'));
  const tokenFile = expand(env, env['HF_TOKEN_PATH'] || join(home, 'token'));
  const token =
    env['HF_TOKEN'] || env['HUGGING_FACE_HUB_TOKEN'] || (await readFile(tokenFile, 'utf8').catch(() => ''));
  const hub = huggingFace({
    offline,
    unreachableRemedy: remedyIn(env, 'HF_ENDPOINT'),
    endpoint: endpointOf('HF_ENDPOINT', env['HF_ENDPOINT'], HUGGING_FACE),
    endpointVariable: 'HF_ENDPOINT',
    token: token.trim() || null,
    tokenVariable: 'HF_TOKEN',
    inPage: false,
  });
  const cache = expand(env, env['HF_HUB_CACHE'] || env['HUGGINGFACE_HUB_CACHE'] || join(home, 'hub'));
  return { ...hub, cache, cacheVariable: 'HF_HOME', symlinks };
}

const PROXIES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'];

function remedyIn(env: Env, endpointVariable: string): (id: string) => string {
  const proxy = PROXIES.find((name) => env[name] && env['NODE_USE_ENV_PROXY'] !== '1');
  const proxied = proxy
    ? `; ${proxy} is heeded with NODE_USE_ENV_PROXY=1, by Node 22.21 and 24 or later`
    : '';
  return (id) =>
    `check the network, give the folder of a checkpoint instead of ${id}, or set ${endpointVariable} to a mirror; HF_HUB_OFFLINE=1 takes only what is cached${proxied}`;
}

const isTrue = (value: string | undefined): boolean => /^(1|on|yes|true)$/i.test(value ?? '');

/** A leading ~ and $NAME, as the Python client expands them. */
function expand(env: Env, path: string): string {
  return path
    .replace(/^~(?=$|[\\/])/, () => env['HOME'] || homedir())
    .replace(/\$\{?(\w+)\}?/g, (whole, name: string) => env[name] ?? whole);
}
