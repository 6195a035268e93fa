"""Builds the Estimators of model.type: included models and user models."""
