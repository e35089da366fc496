/** Starts the site in the page's #site. */
import { render } from 'preact';

const site = document.getElementById('site')!;
site.replaceChildren();
render(<main class="starting">Loading</main>, site);
