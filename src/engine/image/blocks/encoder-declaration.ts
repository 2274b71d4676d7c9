// The language model that is a pipeline's text encoder, alone or within a model that also sees images.

import { EngineError } from '../../../files/error.ts';
import type { TextDeclaration } from '../../../models/text/blocks/architecture.ts';
import { readText, textClasses } from '../../../models/text/registry.ts';
import type { textHalf } from '../../../models/text/wrappers.ts';
import type { ComponentAccess } from '../components/components.ts';

/** The language model of the component `text_encoder`. `halfOf` reads it for texts alone, or for texts with images. */
export function encoderDeclaration(components: ComponentAccess, halfOf: typeof textHalf): TextDeclaration {
  const { name, className, config } = components.get('text_encoder');
  const isAlone = textClasses().some((one) => one.name === className);
  const half = isAlone ? { config, architecture: className } : halfOf(config, className);
  if (half !== null) return readText(half.config, half.architecture);
  const message = `${name}/config.json: the language model within ${className} is not built: fetch the pipeline again`;
  throw new EngineError('unsupported', message, { param: 'text_encoder/config.json' });
}
