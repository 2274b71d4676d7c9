// The view of images and videos: the form, what is being drawn, and the gallery.

import { useEffect } from 'preact/hooks';
import { imageModels, models, modelsProblem, refreshModels } from '../api/models.ts';
import { refreshServerInfo } from '../api/server-info.ts';
import { ConfirmDialog } from '../parts/confirm-dialog.tsx';
import { DrawingList } from './drawing-list.tsx';
import { resumeDrawings } from './drawings.ts';
import { readSources } from './form-state.ts';
import { Gallery } from './gallery.tsx';
import { ImageForm } from './image-form.tsx';
import { Viewer } from './viewer.tsx';
import '../style/images.css';

// Requests go on whichever view is shown when the page is loaded.
void resumeDrawings();

export function ImagesView() {
  useEffect(() => {
    void refreshModels();
    void refreshServerInfo();
    void readSources();
  }, []);
  return (
    <div class="images">
      <section aria-label="Request">
        {modelsProblem.value && <p class="problem">{modelsProblem.value}</p>}
        {models.value && imageModels.value.length === 0 && (
          <p class="problem">
            This server has no image model that is open. Start it with one, for example svc serve --model-path
            models/svc-scenes-mini.
          </p>
        )}
        <ImageForm />
      </section>
      <section aria-label="Results">
        <DrawingList />
        <Gallery />
      </section>
      <Viewer />
      <ConfirmDialog />
    </div>
  );
}
