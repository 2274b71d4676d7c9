// The view of images.

export function ImagesView() {
  return <section aria-label="Images" />;
}
