/** The rows, for clients that connect to the exchange itself. */
import { conform } from './conform.js';

conform('exchange');
