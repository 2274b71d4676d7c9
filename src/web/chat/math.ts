// Mathematics as MathML, which browsers draw themselves.

import temml from 'temml/temml.js';

/** TeX as markup; source that cannot be read is shown as it is, with the reason as its title. Styles are taken out, since the page's policy refuses them. */
export function renderMath(text: string, kind: string): string {
  const markup = temml.renderToString(text, {
    displayMode: kind === 'display',
    throwOnError: false,
    trust: false,
  });
  return markup.replaceAll(/ style="[^"]*"/g, '');
}
