// The ControlNets of a Stable Diffusion model: their configurations, which must match its UNet, and their weights on the device.

import { badCheckpoint } from '../../../../files/error.ts';
import { controlNet, type ControlNet } from '../../../../models/image/unet/controlnet.ts';
import {
  readControlNetConfig,
  type ControlNetConfig,
} from '../../../../models/image/unet/controlnet-config.ts';
import type { UNetConfig, UNetLevel } from '../../../../models/image/unet/unet-config.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import { readAutoencoder } from '../../blocks/autoencoder.ts';
import { controlRules } from '../../calls/control.ts';
import { configFileOf } from '../../components/component-files.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { Pixels } from '../../calls/image-model.ts';
import type { Scope } from '../../recording/scope.ts';
import type { RunRequest } from '../../blocks/family.ts';
import type { UNetRequest } from './unet-denoiser.ts';

/** Component that the first ControlNet of a pipeline is; the names of others have a number behind it. */
const NAME = /^controlnet(_\d+)?$/;

export class ControlNets {
  /** Components that are ControlNets, in order. */
  readonly names: readonly string[];
  readonly #components: ComponentAccess;
  readonly #configs: readonly ControlNetConfig[];

  /** Throws bad_checkpoint for a ControlNet of another model. */
  constructor(components: ComponentAccess, unet: UNetConfig) {
    const { factor } = readAutoencoder(components.get('vae'));
    this.#components = components;
    this.names = components.names.filter((name) => NAME.test(name)).sort(byNumber);
    this.#configs = this.names.map((name) => {
      const component = components.get(name);
      const config = readControlNetConfig(component.config, `${name}/config.json`);
      checkMatch(configFileOf(component), config, unet, factor);
      return config;
    });
  }

  /** Throws bad_checkpoint if tensors do not match the configurations. */
  check(): void {
    for (const [i, name] of this.names.entries()) this.#components.check(name, this.#page(i));
  }

  /** Loads the networks of a request; `scope` takes them over. */
  async load(request: RunRequest, scope: Scope): Promise<UNetRequest['controls']> {
    const rules = controlRules(request, this.names.length);
    const loaded: UNetRequest['controls'][number][] = [];
    for (const [i, name] of this.names.entries()) {
      const { page } = scope.use(
        await this.#components.load(name, 'control', this.#page(i), request.options),
      );
      const image = request.controls[i]!;
      loaded.push({ page, image: this.#configs[i]!.isBgr ? swapped(image) : image, rule: rules[i]! });
    }
    return loaded;
  }

  #page(i: number): (table: WeightTable) => ControlNet {
    return (table) => controlNet(this.#configs[i]!, table);
  }
}

const numberOf = (name: string): number => Number(name.split('_')[1] ?? 0);
const byNumber = (a: string, b: string): number => numberOf(a) - numberOf(b);

/** Pixels with blue before red. */
function swapped({ data, ...size }: Pixels): Pixels {
  return { ...size, data: data.map((_, at) => data[at - (at % 3) + 2 - (at % 3)]!) };
}

/** `file`: the file that states the configuration. Throws bad_checkpoint if the outputs of a ControlNet are not those that the UNet saves, or it reads other texts. */
function checkMatch(file: string, net: ControlNetConfig, unet: UNetConfig, factor: number): void {
  const problem = mismatch(net, unet) ?? otherFactor(net, factor);
  if (problem === null) return;
  throw badCheckpoint(
    `${file}: the ControlNet ${problem}: give one that was made for the family of the model`,
    'controlnetPath',
  );
}

/** `factor`: pixels along one side of a latent. */
function otherFactor({ imageChannels }: ControlNetConfig, factor: number): string | null {
  const own = 2 ** (imageChannels.length - 1);
  return own === factor ? null : `reduces images to ${own} pixels a latent, and the vae to ${factor}`;
}

function mismatch(net: ControlNetConfig, unet: UNetConfig): string | null {
  const outputs = ({ down }: UNetConfig): string =>
    down.map(({ channels, layers }) => `${layers} × ${channels}`).join(', ');
  if (outputs(net) !== outputs(unet))
    return `has outputs of ${outputs(net)} channels, and the unet takes ${outputs(unet)}`;
  if (net.inChannels !== unet.outChannels)
    return `takes latents of ${net.inChannels} channels, and the unet denoises ${unet.outChannels}`;
  const columns = ({ attention }: UNetLevel): number[] => (attention ? [attention.context] : []);
  const texts = (config: UNetConfig): number[] =>
    [...config.down, config.mid].flatMap((one) => (one ? columns(one) : []));
  const [wanted] = texts(unet);
  const other = texts(net).find((context) => context !== wanted);
  if (other !== undefined && wanted !== undefined)
    return `reads texts of ${other} columns, and the unet ${wanted}`;
  const [taken, given] = [net, unet].map(({ added }) => added?.columns ?? 'no');
  if (taken !== given) return `takes ${taken} columns of sizes and pooled text, and the unet ${given}`;
  return null;
}
