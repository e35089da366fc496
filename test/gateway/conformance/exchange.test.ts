/** Conformance of clients connected to the exchange itself. */
import { conform } from './conform.js';

conform('exchange');
