/** Parts of the market's view that are loaded after its first paint. */
export { Chart } from '../chart/chart.js';
export { SlotGrid } from './slot-grid.js';
