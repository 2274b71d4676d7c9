// Environment variables of hubs: the choice of the hub, its cache folder, the token. The names are those of the Python clients.
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { EngineError } from '../error.ts';
import { huggingFace } from './hub-huggingface.ts';
import type { HubSource } from './hub-source.ts';
import { modelHub } from './modelhub.ts';

export type Env = Record<string, string | undefined>;

/** Returns the hub that the environment selects; SVC_USE_MODELHUB=1 selects the second one. */
export async function openHub(env: Env): Promise<HubSource> {
  const cacheHome = env['XDG_CACHE_HOME'] || '~/.cache';
  const offline = ['HF_HUB_OFFLINE', 'TRANSFORMERS_OFFLINE'].find((name) => isTrue(env[name])) ?? null;
  const shared = { offline, symlinks: !isTrue(env['HF_HUB_DISABLE_SYMLINKS']) };
  if (isTrue(env['SVC_USE_MODELHUB'])) {
    return modelHub({
      ...shared,
      endpoint: endpointOf(env, 'MODELSCOPE_ENDPOINT', 'https://www.modelscope.cn'),
      // A folder of its own, because the hub's own client uses a different layout in the parent folder.
      cache: join(expand(env, env['MODELSCOPE_CACHE'] || join(cacheHome, 'modelscope')), 'svc-engine'),
      token: env['MODELSCOPE_API_TOKEN']?.trim() || null,
    });
  }
  const home = expand(env, env['HF_HOME'] || join(cacheHome, 'huggingface'));
  const tokenFile = expand(env, env['HF_TOKEN_PATH'] || join(home, 'token'));
  const token =
    env['HF_TOKEN'] || env['HUGGING_FACE_HUB_TOKEN'] || (await readFile(tokenFile, 'utf8').catch(() => ''));
  return huggingFace({
    ...shared,
    endpoint: endpointOf(env, 'HF_ENDPOINT', 'https://huggingface.co'),
    cache: expand(env, env['HF_HUB_CACHE'] || env['HUGGINGFACE_HUB_CACHE'] || join(home, 'hub')),
    token: token.trim() || null,
  });
}

const isTrue = (value: string | undefined): boolean => /^(1|on|yes|true)$/i.test(value ?? '');

/** A leading ~ and $NAME, as the Python client expands them. */
function expand(env: Env, path: string): string {
  return path
    .replace(/^~(?=$|[\\/])/, () => env['HOME'] || homedir())
    .replace(/\$\{?(\w+)\}?/g, (whole, name: string) => env[name] ?? whole);
}

function endpointOf(env: Env, variable: string, standard: string): string {
  const value = env[variable]?.trim() || standard;
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol)) {
    throw new EngineError(
      'bad_request',
      `${variable} is '${value}', which is not an http or https address; correct or unset it`,
    );
  }
  return value.replace(/\/+$/, '');
}
