/** The rows, for clients that connect to a replica. */
import { conform } from './conform.js';

conform('replica');
